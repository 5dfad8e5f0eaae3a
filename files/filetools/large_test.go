package filetools

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// A content that came in parts is written like any other content, with a limit of its own, and undo works. (FILE-9)
func TestStagedContent(t *testing.T) {
	limits := workspace.Options{WriteLimit: 1000, PartsLimit: 10_000}
	b := newBench(t, Config{}, limits)
	b.put("a", "old\n")
	call := func(name, args string, parts ...string) (*tool.Plan, string) {
		t.Helper()
		c := tool.Call{Session: "one", Name: name, Arguments: json.RawMessage(args)}
		staged, err := b.tools.Stage(c)
		if err != nil {
			t.Fatal(err)
		}
		defer staged.Abort()
		for _, p := range parts {
			if _, err := staged.Write([]byte(p)); err != nil {
				break
			}
		}
		c.Staged = staged
		x, _ := b.set.Get(name)
		p, err := x.Plan(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		if p.Done == nil {
			r, err := p.Apply(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			return p, r.Text
		}
		return p, p.Result().Text
	}
	b.session = "one"
	b.op("read_file", `{"path":"a"}`)
	text := strings.Repeat("0123456789abcde\n", 200)
	p, said := call("write_file", `{"path":"a"}`, text[:100], text[100:])
	if p.Size != 3200 || p.Diff.Empty() || b.get("a") != text || !strings.Contains(said, `"bytes_written":3200`) {
		t.Errorf("%+v %s", p, said)
	}
	for name, c := range map[string]struct {
		tool, args, part string
		code             tool.Code
	}{
		"too large":  {"write_file", `{"path":"a"}`, strings.Repeat("x", 10_001), tool.FileTooLarge},
		"no text":    {"write_file", `{"path":"a"}`, "\xff", tool.InvalidArgument},
		"twice":      {"write_file", `{"path":"a","content":"x"}`, "x", tool.InvalidArgument},
		"takes none": {"read_file", `{"path":"a"}`, "x", tool.InvalidArgument},
		"nowhere":    {"write_file", `{"path":"../a"}`, "x", tool.InvalidPath},
	} {
		if p, said := call(c.tool, c.args, c.part); p.Done == nil || p.Done.Code != c.code {
			t.Errorf("%s: %s", name, said)
		}
	}
	if o := b.op("undo", `{}`); !o.Success {
		t.Errorf("%+v", o)
	}
	if o := b.op("undo", `{"all":true}`); !o.Success || b.get("a") != "old\n" {
		t.Errorf("%+v, %q", o, b.get("a"))
	}
}
