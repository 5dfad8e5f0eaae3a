package tool

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"
)

func TestPathIn(t *testing.T) {
	for _, c := range []struct{ arguments, want string }{
		{`{"path":"a/b.txt","n":1}`, "a/b.txt"},
		{`{"path":1}`, ""},
		{`{}`, ""},
		{`[`, ""},
		{``, ""},
		{`{"path":"` + strings.Repeat("x", 4096) + `"}`, strings.Repeat("x", 4096)},
		{`{"path":"` + strings.Repeat("é", 3000) + `"}`, strings.Repeat("é", 2048) + "…"},
		{`{"path":"x` + strings.Repeat("é", 3000) + `"}`, "x" + strings.Repeat("é", 2047) + "…"},
	} {
		if got := PathIn(json.RawMessage(c.arguments)); got != c.want || !utf8.ValidString(got) {
			t.Errorf("%.30s: %.30q of %d bytes", c.arguments, got, len(got))
		}
	}
}
