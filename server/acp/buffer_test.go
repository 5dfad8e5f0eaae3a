package acp_test

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/stet-dev/stet/llm"
)

// results returns the results that the model got, by call id.
func results(req *llm.Request) map[string]string {
	out := map[string]string{}
	for _, m := range req.Messages {
		for _, p := range m.Parts {
			if p.Kind == llm.ToolResult {
				out[p.CallID] = p.Text
			}
		}
	}
	return out
}

// A file has unsaved changes. A read returns the text on disk and the unsaved changes. A write is refused until the file is
// saved. After that, a write is compared with the version on disk.
func TestUnsavedBuffer(t *testing.T) {
	var seen map[string]string
	turns := script(
		[]llm.Part{using("c1", "read_file", `{"path":"a.txt"}`)},
		[]llm.Part{using("c2", "edit_file", editA)},
		[]llm.Part{words("Please save it.")},
		[]llm.Part{using("c3", "edit_file", editA)},
		[]llm.Part{words("Good.")},
	)
	r := newRig(t, func(req *llm.Request) (llm.Response, error) {
		seen = results(req)
		return turns(req)
	}, "a.txt", "one\ntwo\nthree\n")
	path := filepath.Join(r.dir, "a.txt")
	e := &editor{decide: choose(sdk.PermissionOptionKindAllowOnce), buffers: map[string]string{path: "one\ntwo\nthree and more"}}
	r.connect(e)
	id := r.begin(e)
	r.say(e, id, "go")
	if r.read("a.txt") != "one\ntwo\nthree\n" || len(e.asked) != 0 {
		t.Errorf("written past an unsaved buffer; asked %d times", len(e.asked))
	}
	var read struct {
		Content string
		Unsaved struct{ Note, Diff string }
	}
	if err := json.Unmarshal([]byte(seen["c1"]), &read); err != nil {
		t.Fatal(err)
	}
	if read.Content != "one\ntwo\nthree\n" || !strings.Contains(read.Unsaved.Diff, "-three\n+three and more\n") || read.Unsaved.Note == "" {
		t.Errorf("%+v", read)
	}
	if !strings.Contains(seen["c2"], "concurrent_modification") || !strings.Contains(seen["c2"], "not saved") {
		t.Error(seen["c2"])
	}

	r.write("a.txt", "one\ntwo\nthree and more\n") // the editor saves the file
	r.say(e, id, "saved")
	if got := r.read("a.txt"); got != "one\nTWO\nthree and more\n" || len(e.asked) != 1 {
		t.Errorf("%q, asked %d times: %s", got, len(e.asked), seen["c3"])
	}
}

// A buffer that has the text on disk is no unsaved change, although editors do not keep all details of the text.
func TestSavedBuffer(t *testing.T) {
	for disk, buffer := range map[string]string{
		"one\r\ntwo\r\n": "one\ntwo\n", "\ufeffone\ntwo\n": "one\ntwo", "one\ntwo": "one\ntwo\n",
	} {
		var seen map[string]string
		turns := script([]llm.Part{using("c1", "Read", `{"path":"a.txt"}`)})
		r := newRig(t, func(req *llm.Request) (llm.Response, error) {
			seen = results(req)
			return turns(req)
		}, "a.txt", disk)
		e := &editor{buffers: map[string]string{filepath.Join(r.dir, "a.txt"): buffer}}
		r.connect(e)
		r.say(e, r.begin(e), "go")
		if seen["c1"] == "" || strings.Contains(seen["c1"], "unsaved") {
			t.Errorf("%q as %q: %s", disk, buffer, seen["c1"])
		}
	}
}

// If too much is unsaved, the result has no diff.
func TestLargeUnsavedBuffer(t *testing.T) {
	var seen map[string]string
	turns := script([]llm.Part{using("c1", "read_file", `{"path":"a.txt"}`)})
	r := newRig(t, func(req *llm.Request) (llm.Response, error) {
		seen = results(req)
		return turns(req)
	}, "a.txt", "one\n")
	e := &editor{buffers: map[string]string{filepath.Join(r.dir, "a.txt"): strings.Repeat("a line\n", 20_000)}}
	r.connect(e)
	r.say(e, r.begin(e), "go")
	if got := seen["c1"]; len(got) > 1000 || !strings.Contains(got, "changed much of this file") || !json.Valid([]byte(got)) {
		t.Errorf("%.300s", got)
	}
}

// A file is read, changed in the editor and read again. The unsaved changes are in the second result, although the model has seen
// the file on disk already.
func TestReadAgain(t *testing.T) {
	text := strings.Repeat("a line of some length that is not short\n", 200)
	e := &editor{buffers: map[string]string{}}
	var path, seen string
	turns := script(
		[]llm.Part{using("c1", "read_file", `{"path":"a.txt"}`)},
		[]llm.Part{using("c2", "read_file", `{"path":"a.txt"}`)},
		[]llm.Part{using("c3", "list_files", `{"path":"."}`)},
	)
	r := newRig(t, func(req *llm.Request) (llm.Response, error) {
		all := results(req)
		if all["c1"] != "" && all["c2"] == "" {
			e.buffers[path] = text + "a line that is not saved\n"
		}
		seen = all["c2"]
		return turns(req)
	}, "a.txt", text)
	path = filepath.Join(r.dir, "a.txt")
	r.connect(e)
	r.say(e, r.begin(e), "go")
	if !strings.Contains(seen, "+a line that is not saved") {
		t.Errorf("%.400s", seen)
	}
}
