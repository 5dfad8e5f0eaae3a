package dialect

import (
	"reflect"
	"strings"
	"testing"
)

const aDiff = `commit 1
diff --git a/x/a.go b/x/a.go
--- a/x/a.go
+++ b/x/a.go
@@ -3,4 +3,5 @@ func f() {
 three

-old
+new
+++ more
 six
\ No newline at end of file
@@ -20 +21 @@
-a
+b
 not of it
diff --git a/gone b/gone
--- a/gone
+++ /dev/null
@@ -1,2 +0,0 @@
-a
-b
--- a/c
+++ b/c	2026-01-01
@@ -0,0 +1,3 @@
+one
[stet: c lines 2-9 unchanged: shown above by call_1]
+three
`

func TestHunks(t *testing.T) {
	want := []Hunk{
		{"x/a.go", 3, []string{"three", "", "new", "++ more", "six"}},
		{"x/a.go", 21, []string{"b"}},
		{"c", 1, []string{"one"}},
	}
	if got := Hunks(aDiff); !reflect.DeepEqual(got, want) {
		t.Errorf("%v", got)
	}
	for _, text := range []string{"", "no diff\n@@ nor this", "\n@@ -1 +1 @@\n+without a file"} {
		if got := Hunks(text); len(got) > 0 {
			t.Errorf("%q: %v", text, got)
		}
	}
}

func FuzzHunks(f *testing.F) {
	f.Add(aDiff)
	f.Fuzz(func(t *testing.T, text string) {
		for _, h := range Hunks(text) {
			for _, line := range h.Lines {
				if h.Path == "" || h.First < 1 || !strings.Contains(text, line) || strings.Contains(line, "\n") {
					t.Fatalf("%+v", h)
				}
			}
		}
	})
}
