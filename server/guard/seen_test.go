package guard

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// What an agent's own tools have read and edited is known to a call of stet's own tools that the same session makes, and to no other. (GRD-3)
func TestSeen(t *testing.T) {
	r := newRig(t)
	long := strings.Repeat("line\n", 50) + "last\n"
	r.write("long.txt", long)
	n := 0
	do := func(session, sub, tool, input, output string, change func()) {
		n++
		e := Event{Agent: "agent", Session: session, SubAgent: sub, Dir: r.dir, Call: fmt.Sprint("n", n), Tool: tool, Input: json.RawMessage(input), Output: output}
		for _, e.Kind = range []Kind{Before, After} {
			if _, err := r.Handle(t.Context(), e); err != nil {
				t.Fatal(err)
			}
			if e.Kind == Before && change != nil {
				change()
			}
		}
	}
	const input = `{"path":"a.txt","content":"x"}`
	ask := func(session, sub, file, arguments string) string {
		n++
		e := Event{Kind: Before, Agent: "agent", Session: session, SubAgent: sub, Dir: r.dir, Call: fmt.Sprint("n", n), Tool: "mcp__stet__write_file", Input: json.RawMessage(input)}
		if _, err := r.Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, o := range r.Seen(SeenQuery{"write_file", json.RawMessage(arguments), filepath.Join(r.dir, file)}) {
			got = append(got, fmt.Sprint(o.Kind, " ", o.Lines.First, "-", o.Lines.Last, " ", o.From != "", o.Part, o.Gone))
		}
		e.Kind = After
		if _, err := r.Handle(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		return strings.Join(got, ", ")
	}
	do("s", "", "Read", `{"file_path":"`+r.dir+`/a.txt"}`, "     1→a\n", nil)
	do("s", "", "Read", `{"file_path":"long.txt"}`, strings.Repeat("line\n", 40)+"[cut]", nil)
	do("s", "", "Read", `{"file_path":"src/b.txt"}`, "another text", nil)
	do("s", "", "Bash", `{"command":"cat src/b.txt"}`, "b\n", nil)
	do("s", "", "Edit", `{"file_path":"a.txt","old_string":"a","new_string":"c"}`, "", func() { r.write("a.txt", "c\n") })
	do("s", "", "Write", `{"file_path":"new.txt","content":"new\n"}`, "", func() { r.write("new.txt", "new\n") })
	do("s", "", "Bash", `{"command":"echo x > src/b.txt"}`, "", func() { r.write("src/b.txt", "x\n") })
	do("s", "sub", "Read", `{"file_path":"src/b.txt"}`, "x\n", nil)
	do("s", "", "apply_patch", `{"input":"*** Begin Patch\n*** Delete File: src/b.txt\n*** End Patch"}`, "", func() { _ = os.Remove(filepath.Join(r.dir, "src/b.txt")) })
	for _, c := range []struct{ session, sub, file, arguments, want string }{
		{"s", "", "a.txt", `{"content":"x", "path":"a.txt"}`, "read 0-0 false false false, edited 0-0 true true false"},
		{"s", "", "long.txt", input, "read 1-40 false false false"},
		{"s", "", "new.txt", input, "edited 0-0 false false false"},
		{"s", "", "src/b.txt", input, "read 0-0 false false false, edited 0-0 true false true"},
		{"s", "sub", "src/b.txt", input, "read 0-0 false false false"},
		{"s", "other", "a.txt", input, ""}, {"t", "", "a.txt", input, ""}, {"s", "", "a.txt", `{"path":"a.txt"}`, ""}, {"s", "", "a.txt", "no JSON", ""},
	} {
		if got := ask(c.session, c.sub, c.file, c.arguments); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
	// Two sessions run the same call: whose it is, is not known.
	r.handle(Event{Kind: Before, Call: "twice", Tool: "mcp__stet__write_file", Input: json.RawMessage(input)})
	if got := ask("t", "", "a.txt", input); got != "" {
		t.Error(got)
	}
}
