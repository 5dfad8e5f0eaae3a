package codectest

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"reflect"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm"
)

// Captures runs check for every recording in fsys whose name contains one of words. If there is none, it skips the test. A
// recording is a file of request bodies, one on each line. A body that is not plain JSON is written as {"_raw": "…"}.
func Captures(t *testing.T, fsys fs.FS, check func(t *testing.T, name string, bodies [][]byte), words ...string) {
	names, err := fs.Glob(fsys, "*.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	found := false
	for _, name := range names {
		if strings.HasSuffix(name, ".meta.jsonl") || !containsAny(name, words) {
			continue
		}
		found = true
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			data, err := fs.ReadFile(fsys, name)
			if err != nil {
				t.Fatal(err)
			}
			check(t, name, bodies(data))
		})
	}
	if !found {
		t.Skip("no recorded requests here")
	}
}

func containsAny(name string, words []string) bool {
	for _, word := range words {
		if strings.Contains(name, word) {
			return true
		}
	}
	return false
}

func bodies(data []byte) [][]byte {
	lines := bytes.Split(bytes.TrimSpace(data), []byte("\n"))
	for i, line := range lines {
		var wrapped struct {
			Raw *string `json:"_raw"`
		}
		if json.Unmarshal(line, &wrapped) == nil && wrapped.Raw != nil {
			lines[i] = []byte(*wrapped.Raw)
		}
	}
	return lines
}

// PatchResults patches all editable results of each body, and returns the other results. At least one result must be editable.
func PatchResults(t testing.TB, c llm.Codec, bodies [][]byte) (fixed []llm.Part) {
	t.Helper()
	edited := 0
	for i, body := range bodies {
		req, err := c.Decode(body)
		if err != nil {
			t.Fatalf("line %d: %v", i+1, err)
		}
		for _, m := range req.Messages {
			for _, p := range m.Parts {
				if p.Kind == llm.ToolResult && !p.Span.Valid() {
					fixed = append(fixed, p)
				}
			}
		}
		edited += Patch(t, c, body, req, IsResult)
	}
	if edited == 0 {
		t.Error("no results")
	}
	return fixed
}

// Grow checks that the request of a turn decodes to the messages of the previous turn and more, also if the agent has moved its
// cache markers. The system text may change, and requests of other conversations may come in between.
func Grow(t testing.TB, c llm.Codec, bodies [][]byte) {
	t.Helper()
	var before []llm.Message
	grown := 0
	for i, body := range bodies {
		req, err := c.Decode(body)
		if err != nil {
			t.Fatal(err)
		}
		now := Spanless(req).Messages
		if len(before) > 3 && len(now) > 3 && reflect.DeepEqual(before[1:3], now[1:3]) {
			grown++
			for j := 1; j < len(before); j++ {
				if !reflect.DeepEqual(before[j], now[j]) {
					t.Fatalf("line %d: message %d was %+v, is %+v", i+1, j, before[j], now[j])
				}
			}
		}
		before = now
	}
	if grown == 0 {
		t.Error("nothing grew")
	}
}
