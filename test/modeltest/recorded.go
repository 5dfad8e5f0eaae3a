package modeltest

import (
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/endpoint"
	"github.com/stet-dev/stet/llm/llmtest"
)

// Recorded plays the exchanges in the archives of dir whose names match pattern. In an archive, "stream" or "whole" has the bytes
// that an endpoint answers, and "want" has the expected events, answer and error. If update is not nil, it gets the archives with
// the actual results in "want".
func Recorded(t *testing.T, a Adapter, dir fs.FS, pattern string, update func(name string, archive []byte) error) {
	names, err := fs.Glob(dir, pattern)
	if err != nil || len(names) == 0 {
		t.Fatal(err, "no archives")
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(path.Base(name), ".txtar"), func(t *testing.T) {
			data, err := fs.ReadFile(dir, name)
			if err != nil {
				t.Fatal(err)
			}
			archive, want := txtar.Parse(data), ""
			for i := range archive.Files {
				f := &archive.Files[i]
				switch f.Name {
				case "stream":
					want += a.replay(t, f.Data, true)
				case "whole":
					want += a.replay(t, f.Data, false)
				case "want":
					if update == nil && string(f.Data) != want {
						t.Errorf("got\n%s\nwant\n%s", want, f.Data)
					}
					f.Data = []byte(want)
				}
			}
			if update != nil {
				if err := update(name, txtar.Format(archive)); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

// replay sends a request to an endpoint that answers with body, and returns the results as text.
func (a Adapter) replay(t *testing.T, body []byte, stream bool) string {
	var out strings.Builder
	synctest.Test(t, func(t *testing.T) {
		var network llmtest.Memory
		transport := &http.Transport{DialContext: network.DialContext}
		done := make(chan struct{})
		server := http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if stream {
				w.Header().Set("Content-Type", "text/event-stream")
			}
			_, _ = w.Write(body) // the client may close the connection early
		})}
		go func() {
			defer close(done)
			_ = server.Serve(&network)
		}()
		defer func() {
			transport.CloseIdleConnections()
			_ = server.Close()
			<-done
		}()
		model := endpoint.Client{API: a.API, Config: endpoint.Config{BaseURL: "http://model.test", HTTP: &http.Client{Transport: transport}, Retries: -1}}
		var res *llm.Response
		var err error
		if stream {
			res, err = model.Stream(t.Context(), request(), func(e llm.Event) { out.WriteString(describe(e) + "\n") })
		} else {
			res, err = model.Complete(t.Context(), request())
		}
		if res != nil {
			fmt.Fprintf(&out, "answer %s of %s, stop %q (%d), usage %+v\n", res.ID, res.Model, res.StopReason, res.Stop(), res.Usage)
			for i, p := range res.Message.Parts {
				fmt.Fprintf(&out, "%d %s\n", i, describePart(p))
			}
		}
		if err != nil {
			fmt.Fprintf(&out, "error %v; overloaded %v, broken %v\n", err, errors.Is(err, llm.ErrOverloaded), errors.Is(err, llm.ErrBroken))
		}
	})
	return out.String()
}

var eventNames = map[llm.EventKind]string{
	llm.TextDelta: "text", llm.ThinkingDelta: "thinking", llm.CallDelta: "call", llm.CallDone: "done",
	llm.UsageSaid: "usage", llm.Stopped: "stopped", llm.Retrying: "retrying",
}

func describe(e llm.Event) string {
	name := eventNames[e.Kind]
	switch e.Kind {
	case llm.TextDelta, llm.ThinkingDelta:
		return fmt.Sprintf("%s %d %q", name, e.Index, e.Text)
	case llm.CallDelta:
		return fmt.Sprintf("%s %d %s %s %q", name, e.Index, e.Call.CallID, e.Call.Name, e.Text)
	case llm.CallDone:
		return fmt.Sprintf("%s %d %s %s %s", name, e.Index, e.Call.CallID, e.Call.Name, e.Call.Args)
	case llm.UsageSaid:
		return fmt.Sprintf("%s %+v", name, e.Usage)
	case llm.Stopped:
		return fmt.Sprintf("%s %q", name, e.Reason)
	}
	return fmt.Sprintf("%s after %v: %v", name, e.Wait, e.Err)
}

func describePart(p llm.Part) string {
	switch p.Kind {
	case llm.Text:
		return fmt.Sprintf("text %q", p.Text)
	case llm.Thinking:
		return fmt.Sprintf("thinking %q %s", p.Text, p.Raw)
	case llm.ToolCall:
		return fmt.Sprintf("call %s %s %s", p.CallID, p.Name, p.Args)
	}
	return "opaque " + p.Raw
}
