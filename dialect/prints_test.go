package dialect

import "testing"

func TestPrintsFiles(t *testing.T) {
	for _, tt := range []struct {
		command, output string
		want            bool
	}{
		{"go test ./... | tail -5", "ok", false},
		{"git log --oneline | head", "abc first", false},
		{"ls -l; wc -l a.go", "3 a.go", false},
		{"cat", "", false},
		{"cd src && cat a.go | head -50", "package a", true},
		{"FOO=1 sed -n '1,9p' a.go; make", "package a", true},
		{"for f in *.go; do cat $f; done", "package a", true},
		{"(tail -n 20 a.go)", "package a", true},
		{"git -C src show HEAD:a.go", "package a", true},
		{"git log -p a.go", "commit", true},
		{"make check", "--- a\n+++ b\n@@ -1,3 +1,4 @@\n a", true},
		{"", "diff --git a/a b/a", true},
	} {
		a := Action{Op: Shell, Command: tt.command}
		if got := a.PrintsFiles(tt.output); got != tt.want {
			t.Errorf("%q: %v", tt.command, got)
		}
	}
}

func TestAgentRow(t *testing.T) {
	for name, args := range map[string]string{
		"Task":  `{"description":"look","prompt":"look at it","subagent_type":"x"}`,
		"Agent": `{"prompt":"look at it"}`,
	} {
		if a := Default().Action(name, args); a.Op != Agent || a.Content != "look at it" || a.Command != args {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := Default().Action("Task", "no JSON"); a.Op != Agent || a.Content != "" {
		t.Errorf("%+v", a)
	}
}
