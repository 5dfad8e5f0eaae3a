package transcript

import (
	"bytes"
	"encoding/json"
	"fmt"
	"reflect"
	"runtime"
	"strings"
	"testing"
)

// Short JSON stays as it is, in whatever pieces it comes. Members that are not read become 0.
func TestCutterKeeps(t *testing.T) {
	doc := `{"a": "x\\\"}, \u00e9\\u", "b": [1, {"c": "d:e"}], "skip": {"a": ["b", "}"], "n": 1}, "c\"": true, "z": "ü"}`
	membersABZ := map[string]reflect.Type{"a": reflect.TypeFor[int](), "b": reflect.TypeFor[int](), "z": reflect.TypeFor[int]()}
	for step := 1; step < len(doc); step++ {
		whole, some := cutter{}, cutter{read: membersABZ}
		var kept, cut []byte
		for at := 0; at < len(doc); at += step {
			piece := []byte(doc[at:min(at+step, len(doc))])
			kept, cut = whole.append(kept, piece), some.append(cut, piece)
		}
		if string(kept) != doc {
			t.Fatalf("pieces of %d: %s", step, kept)
		}
		if want := `{"a": "x\\\"}, \u00e9\\u", "b": [1, {"c": "d:e"}], "skip":0, "c\"":0, "z": "ü"}`; string(cut) != want {
			t.Fatalf("pieces of %d: %s", step, cut)
		}
	}
}

// A line of 200 MB takes memory in proportion to what is kept of it.
//
// BILL-4
func TestLongLine(t *testing.T) {
	if testing.Short() {
		t.Skip("reads 200 MB")
	}
	const size = 200 << 20
	text := strings.Repeat(`word \u00e9\n`, size/12)
	many := "[" + strings.Repeat(`"a line of text",`, size/17) + `""]`
	line := `{"type":"user","uuid":"u%d","parentUuid":null,"timestamp":"2026-01-02T03:04:05Z","message":{"role":"user","content":"%s"},"toolUseResult":%s}` + "\n"
	for name, file := range map[string]string{
		"a long text":    fmt.Sprintf(line, 1, text, "0"),
		"not kept":       fmt.Sprintf(line, 1, "short", `"`+text+`"`),
		"many, not kept": fmt.Sprintf(line, 1, "short", many),
	} {
		in := strings.NewReader(file + fmt.Sprintf(line, 2, "next", "0"))
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		all, err := Opener{}.read("x.jsonl", in, int64(len(file)))
		runtime.ReadMemStats(&after)
		if err != nil || len(all) != 1 || len(all[0].Messages) != 2 {
			t.Fatalf("%s: %v, %v", name, all, err)
		}
		if n := (after.TotalAlloc - before.TotalAlloc) >> 20; n > 120 {
			t.Errorf("%s: %d MB were allocated", name, n)
		}
		if n := len(all[0].Messages[0].Parts[0].Text); n > mostText {
			t.Errorf("%s: a text of %d bytes", name, n)
		}
	}
}

func FuzzCutter(f *testing.F) {
	f.Add([]byte(`{"a":"\\u0041\"","b":[{"c":1}]}`))
	f.Fuzz(func(t *testing.T, doc []byte) {
		var c cutter
		if got := c.append(nil, doc); !bytes.Equal(got, doc) {
			t.Fatalf("%q became %q", doc, got)
		}
		some := cutter{read: map[string]reflect.Type{"a": reflect.TypeFor[int]()}}
		cut := some.append(nil, doc)
		var before, after struct {
			A any `json:"a"`
		}
		if json.Unmarshal(doc, &before) == nil && bytes.HasPrefix(bytes.TrimSpace(doc), []byte("{")) && bytes.Count(doc, []byte("\\u")) == 0 {
			if json.Unmarshal(cut, &after) != nil || !strings.Contains(string(doc), `"A"`) && !reflect.DeepEqual(before, after) {
				t.Fatalf("%q became %q", doc, cut)
			}
		}
	})
}
