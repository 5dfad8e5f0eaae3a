package filetools

import (
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/tool"
)

// READ-7: a message that names another tool names one that is listed, and that tool does what the message says.
func TestNamedToolIsListed(t *testing.T) {
	b := newBench(t, Config{}, workspace.Options{})
	b.put("d/a.txt", "x\n")
	said := b.read("path", "d").Text
	if said != "Path 'd' is a directory. Use LS to explore it." {
		t.Errorf("%s", said)
	}
	if !slices.ContainsFunc(b.set.Specs(), func(s tool.Spec) bool { return s.Name == "LS" && s.ReadOnly }) {
		t.Error("LS is not listed")
	}
	if o := b.op("LS", `{"path":"d"}`); !strings.Contains(o.text(), "d/a.txt") {
		t.Errorf("%+v", o)
	}
}

// Names returns the files that the tools list: no ignored or hidden file, nothing outside of the root, and no more names than
// asked for.
func TestNames(t *testing.T) {
	b := newBench(t, Config{Hidden: func(p string) bool { return p == "secret" || p == "keys" }}, workspace.Options{})
	b.put(".gitignore", "out/\n*.log\n")
	for _, name := range []string{"a.txt", "a.log", "d/b.txt", "out/c.txt", "secret", "keys/d.txt"} {
		b.put(name, "x")
	}
	all := []string{".gitignore", "a.txt", "d/b.txt"}
	for most := range 5 {
		got, err := b.tools.Names(t.Context(), most)
		if want := all[:min(most, len(all))]; err != nil || !slices.Equal(got, want) {
			t.Errorf("%d: %q, %v", most, got, err)
		}
	}
}
