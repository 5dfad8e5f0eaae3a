package rawjson

import (
	"slices"
	"strings"
	"testing"
)

// Walk finds the array of that name among other members.
func TestWalk(t *testing.T) {
	for body, want := range map[string]string{
		`{"b":1,"list":["x","y"],"a":2}`: "x y, a 2 b 1",
		`{"list":[],"a":"list"}`:         ", a \"list\" b ",
		`{"a":{"list":["no"]}}`:          "none",
		`{"list":"x"}`:                   "none",
		`{"list":["x"],"list":["y"]}`:    "error",
		`{"list":["x"],"list":"y"}`:      "error",
		`{"list":["x"]`:                  "error",
		`{"list":["x"]} and more`:        "error",
		`["list"]`:                       "error",
	} {
		d := NewDecoder([]byte(body))
		var w Walk
		var f [2]Span
		var all []string
		found := d.Walk(&w, nil, "list", []string{"a", "b"}, f[:], func(s *Scanner) {
			for s.Next() {
				var at Span
				s.Take(&at)
				all = append(all, d.String(at))
				w.Cut(s, len(all), 0)
			}
		})
		got := "none"
		switch {
		case d.Err() != nil:
			got = "error"
		case found:
			got = strings.Join(all, " ") + ", a " + d.Raw(f[0]) + " b " + d.Raw(f[1])
		}
		if got != want {
			t.Errorf("%s: %q, want %q", body, got, want)
		}
		if found && d.Err() == nil && len(w.Seams) > 0 {
			again := NewDecoder(d.Body)
			s, walk, ok := w.Resume(again.Body, d.Body, 0)
			var g [2]Span
			if !ok || !again.Walk(&walk, &s, "list", []string{"a", "b"}, g[:], func(s *Scanner) {
				if s.Next() {
					t.Errorf("%s: an element behind the last seam", body)
				}
			}) || !slices.Equal(f[:], g[:]) {
				t.Errorf("%s: resumed: %v, %v", body, g, again.Err())
			}
		}
	}
}
