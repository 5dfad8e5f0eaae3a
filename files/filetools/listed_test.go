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
