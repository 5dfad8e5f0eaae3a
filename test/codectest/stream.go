package codectest

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/internal/sse"
	"github.com/stet-dev/stet/llm"
)

// FuzzStream checks the reader of a streamed answer with streams of any bytes. The size of the pieces makes no difference. The
// events have the same content as the returned answer. A complete answer can be sent back. The seeds are the streams in the archives whose
// names match pattern.
func FuzzStream(f *testing.F, api llm.API, pattern string) {
	names, err := filepath.Glob(pattern)
	if err != nil || len(names) == 0 {
		f.Fatal(err, "no archives")
	}
	for _, name := range names {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		for _, file := range txtar.Parse(data).Files {
			if file.Name == "stream" {
				f.Add(file.Data, 7)
			}
		}
	}
	f.Fuzz(func(t *testing.T, stream []byte, size int) {
		whole, told, err := read(api.Reader, stream, len(stream))
		cut, again, errCut := read(api.Reader, stream, max(size%100, 1))
		if !reflect.DeepEqual(whole.Response(), cut.Response()) || !reflect.DeepEqual(told, again) || fmt.Sprint(err) != fmt.Sprint(errCut) {
			t.Fatalf("whole %+v, %v, %v\nin pieces %+v, %v, %v", whole.Response(), told, err, cut.Response(), again, errCut)
		}
		if err != nil || !whole.End() {
			return
		}
		res := whole.Response()
		for _, e := range told {
			if e.Kind <= llm.CallDone && e.Index >= len(res.Message.Parts) {
				t.Fatalf("told of part %d of %d", e.Index, len(res.Message.Parts))
			}
		}
		body, err := api.Codec.Encode(&llm.Request{Model: "m", Messages: []llm.Message{res.Message}})
		if err != nil {
			t.Fatalf("cannot be sent back: %v: %+v", err, res.Message)
		}
		if _, err := api.Codec.Decode(body); err != nil {
			t.Fatalf("sent back as %s: %v", body, err)
		}
	})
}

func read(reader func(emit func(llm.Event)) llm.Reader, stream []byte, size int) (llm.Reader, []llm.Event, error) {
	var told []llm.Event
	var failed error
	r := reader(func(e llm.Event) { told = append(told, e) })
	p := sse.Parser{Event: func(name, data []byte) {
		if failed == nil && !r.Done() {
			failed = r.Event(name, data)
		}
	}}
	for len(stream) > 0 {
		n := min(size, len(stream))
		_, _ = p.Write(stream[:n]) // takes all
		stream = stream[n:]
	}
	return r, told, failed
}
