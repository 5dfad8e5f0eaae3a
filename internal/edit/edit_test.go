package edit

import (
	"bytes"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// FILE-18: edits, and the unchanged bytes around them.
func TestApply(t *testing.T) {
	tests := []struct {
		name  string
		data  string
		edits []Edit
		want  string
	}{
		{"a word", "a b c", []Edit{{Old: "b", New: "x"}}, "a x c"},
		{"removed", "a\nb\nc\n", []Edit{{Old: "b\n"}}, "a\nc\n"},
		{"several, in any order", "a\nb\nc\n", []Edit{{Old: "c", New: "C"}, {Old: "a", New: "A"}}, "A\nb\nC\n"},
		{"all", "a b a b a", []Edit{{Old: "a", New: "xx", All: true}}, "xx b xx b xx"},
		{"all, overlapping", "aaa", []Edit{{Old: "aa", New: "b", All: true}}, "ba"},
		{"edits see the file as it was", "a b", []Edit{{Old: "a", New: "b"}, {Old: "b", New: "a"}}, "b a"},
		{"touching", "ab", []Edit{{Old: "a", New: "x"}, {Old: "b", New: "y"}}, "xy"},
		{"no final newline", "a\nb", []Edit{{Old: "b", New: "c"}}, "a\nc"},
		{"final newline added", "a\nb", []Edit{{Old: "b", New: "b\n"}}, "a\nb\n"},
		{"byte order mark", "\ufeffa\r\nb\r\n", []Edit{{Old: "a\n", New: "x\ny\n"}}, "\ufeffx\r\ny\r\nb\r\n"},
		{"CRLF found with LF", "a\r\nb\r\nc\r\n", []Edit{{Old: "a\nb", New: "a\nx\nb"}}, "a\r\nx\r\nb\r\nc\r\n"},
		{"CRLF found with CRLF", "a\r\nb\r\n", []Edit{{Old: "a\r\nb", New: "x\r\ny"}}, "x\r\ny\r\n"},
		{"CRLF in new text, LF in the file", "a\nb\n", []Edit{{Old: "a", New: "x\r\ny"}}, "x\ny\nb\n"},
		{"CRLF line, new lines", "a\nb\r\nc\n", []Edit{{Old: "b", New: "x\ny"}}, "a\nx\r\ny\r\nc\n"},
		{"last line, new lines", "a\r\nb", []Edit{{Old: "b", New: "b\nc\n"}}, "a\r\nb\r\nc\r\n"},
		{"only line, new lines", "a", []Edit{{Old: "a", New: "b\nc"}}, "b\nc"},
		{"mixed, kept lines keep their ends", "a\r\nb\nc\r\nd\n", []Edit{{Old: "a\nb\nc\nd", New: "a\nb\nx\nc\nd"}}, "a\r\nb\nx\r\nc\r\nd\n"},
		{"mixed, replaced in order", "a\r\nb\nc\r\n", []Edit{{Old: "a\nb\nc\n", New: "x\ny\nz\nw\n"}}, "x\r\ny\nz\r\nw\r\n"},
		{"inserted before", "a\nb\r\n", []Edit{{Old: "b\n", New: "x\nb\n"}}, "a\nx\r\nb\r\n"},
		{"line ends only, LF to CRLF", "a\nb\n", []Edit{{Old: "\n", New: "\r\n", All: true}}, "a\r\nb\r\n"},
		{"line ends only, CRLF to LF", "a\r\nb\nc\r\n", []Edit{{Old: "\r\n", New: "\n", All: true}}, "a\nb\nc\n"},
		{"CRLF asked for, LF beside it", "a\nb\r\na\r\n", []Edit{{Old: "a\r\n", New: "x\r\n"}}, "a\nb\r\nx\r\n"},
		{"line end alone", "a\r\nb", []Edit{{Old: "\n", New: " "}}, "a b"},
		{"CR is a byte like others", "a\r\r\nb\rc", []Edit{{Old: "\rc", New: "d"}}, "a\r\r\nbd"},
		{"CR before CRLF", "a\r\r\nb", []Edit{{Old: "\r\n", New: "x\n"}}, "a\rx\r\nb"},
		{"another encoding", "\xe4\xf6 b \xff", []Edit{{Old: "b", New: "c"}}, "\xe4\xf6 c \xff"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			data := []byte(tt.data)
			r, err := Apply(data, tt.edits)
			if err != nil {
				t.Fatal(err)
			}
			if string(r.Data) != tt.want {
				t.Errorf("got %q, want %q", r.Data, tt.want)
			}
			if string(data) != tt.data {
				t.Errorf("the data given became %q", data)
			}
			checkSpans(t, data, r)
		})
	}
}

// checkSpans checks that the bytes outside of the spans are the same.
func checkSpans(t testing.TB, old []byte, r Result) {
	t.Helper()
	i, j := 0, 0
	for _, s := range append(slices.Clone(r.Spans), Span{len(old), len(old), len(r.Data), len(r.Data), 0}) {
		if s.Start < i || s.NewStart < j || s.End < s.Start || s.NewEnd < s.NewStart {
			t.Fatalf("span %+v after %d and %d", s, i, j)
		}
		if !bytes.Equal(old[i:s.Start], r.Data[j:s.NewStart]) {
			t.Fatalf("bytes before %+v differ: %q, %q", s, old[i:s.Start], r.Data[j:s.NewStart])
		}
		i, j = s.End, s.NewEnd
	}
}

func TestSpans(t *testing.T) {
	data := []byte("one\r\ntwo\r\nthree\r\n")
	r, err := Apply(data, []Edit{{Old: "three", New: "3"}, {Old: "one\ntwo\n", New: "one\n2\n"}})
	want := []Span{{5, 10, 5, 8, 1}, {10, 15, 8, 9, 0}}
	if err != nil || !slices.Equal(r.Spans, want) {
		t.Errorf("%v, spans %+v, want %+v", err, r.Spans, want)
	}
}

// Hazard "two matches for an edit; empty old text".
func TestRefused(t *testing.T) {
	tests := []struct {
		name  string
		data  string
		edits []Edit
		want  Error
		says  string
	}{
		{"two matches", "a\nb\na\n", []Edit{{Old: "a", New: "x"}}, Error{Reason: Ambiguous, Lines: []int{1, 3}, Matches: 2},
			"edit 1: the old text occurs 2 times, in lines 1, 3; give more of the text around it"},
		{"two in a line", "b\naa\n", []Edit{{Old: "a", New: "x"}}, Error{Reason: Ambiguous, Lines: []int{2}, Matches: 2},
			"edit 1: the old text occurs 2 times, in line 2; give more of the text around it"},
		{"two that overlap", "aaa", []Edit{{Old: "aa", New: "x"}}, Error{Reason: Ambiguous, Lines: []int{1}, Matches: 2}, ""},
		{"two over CRLF and LF", "a\r\nb\na\nb\n", []Edit{{Old: "a\nb", New: "x"}}, Error{Reason: Ambiguous, Lines: []int{1, 3}, Matches: 2}, ""},
		{"empty", "a", []Edit{{Old: "a", New: "b"}, {New: "x"}}, Error{Edit: 1, Reason: EmptyOld}, "edit 2: the old text is empty"},
		{"empty file, empty text", "", []Edit{{New: "x"}}, Error{Reason: EmptyOld}, ""},
		{"same", "a", []Edit{{Old: "a", New: "a"}}, Error{Reason: NoChange}, "edit 1: old and new text are the same"},
		{"same line ends", "a\r\n", []Edit{{Old: "a\n", New: "a\r\n"}}, Error{Reason: NoChange}, ""},
		{"overlap", "a\nb\nc\n", []Edit{{Old: "b\nc", New: "x"}, {Old: "a\nb", New: "y"}}, Error{Edit: 1, Other: 0, Reason: Overlap, Lines: []int{2}, Matches: 1},
			"edit 2: overlaps edit 1 in line 2"},
		{"overlap with all", "a b a", []Edit{{Old: "a", New: "x", All: true}, {Old: "b a", New: "y"}}, Error{Edit: 1, Other: 0, Reason: Overlap, Lines: []int{1}, Matches: 1}, ""},
		{"twice the same", "a", []Edit{{Old: "a", New: "x"}, {Old: "a", New: "y"}}, Error{Edit: 1, Other: 0, Reason: Overlap, Lines: []int{1}, Matches: 1}, ""},
		{"half a CRLF", "a\r\nb", []Edit{{Old: "a\r", New: "x"}}, Error{Reason: NotFound}, ""},
		{"nothing like it", "a\nb\n", []Edit{{Old: "zzz", New: "x"}}, Error{Reason: NotFound}, "edit 1: the old text is not in the file"},
		{"one of two", "a\nb\n", []Edit{{Old: "a", New: "x"}, {Old: "zzz", New: "x", All: true}}, Error{Edit: 1, Reason: NotFound}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := Apply([]byte(tt.data), tt.edits)
			var got *Error
			if !errors.As(err, &got) {
				t.Fatalf("%v, %q", err, r.Data)
			}
			if r.Data != nil {
				t.Errorf("data beside an error: %q", r.Data)
			}
			got.Near = nil
			if fmt.Sprintf("%+v", *got) != fmt.Sprintf("%+v", tt.want) {
				t.Errorf("got %#v, want %#v", *got, tt.want)
			}
			if tt.says != "" && err.Error() != tt.says {
				t.Errorf("says %q", err)
			}
		})
	}
}

func TestManyMatches(t *testing.T) {
	_, err := Apply([]byte(strings.Repeat("a\n", 500)), []Edit{{Old: "a", New: "b"}})
	var e *Error
	if !errors.As(err, &e) || !e.More || e.Matches != maxMatches || len(e.Lines) != maxMatches {
		t.Errorf("%v", err)
	}
}

// For any edits of any file, only the spans change, a span has the new text except for line ends, and every error is an *Error.
func checkApply(t testing.TB, data []byte, edits []Edit) {
	t.Helper()
	before := bytes.Clone(data)
	r, err := Apply(data, edits)
	if !bytes.Equal(before, data) {
		t.Fatal("the data given was changed")
	}
	if err != nil {
		var e *Error
		if !errors.As(err, &e) || e.Edit >= len(edits) {
			t.Fatalf("error %#v", err)
		}
		for _, n := range e.Lines {
			if n < 1 || n > bytes.Count(data, []byte("\n"))+1 {
				t.Fatalf("line %d: %v", n, err)
			}
		}
		return
	}
	checkSpans(t, data, r)
	if len(edits) != 1 {
		return
	}
	// With LF for every line end, the result equals that of package strings.
	flat := func(b []byte) string { return unify(string(b)) }
	n := 1
	if edits[0].All {
		n = -1
	}
	e := edits[0]
	if !strings.Contains(e.Old, "\r") && !strings.HasSuffix(e.New, "\r") && !bytes.Contains(data, []byte("\r\r")) {
		if want := unify(strings.Replace(flat(data), e.Old, unify(e.New), n)); flat(r.Data) != want {
			t.Fatalf("%+v: got %q, want %q", e, flat(r.Data), want)
		}
	}
}

// An old text with CRLF that fits everywhere but at its line ends is not looked for without end. (FILE-18)
func TestWrongLineEnds(t *testing.T) {
	data := []byte(strings.Repeat("\n", 4<<20))
	old := strings.Repeat("\n", 2<<20) + "\r\n"
	for _, all := range []bool{false, true} {
		_, err := Apply(data, []Edit{{Old: old, New: "x", All: all}})
		var e *Error
		if !errors.As(err, &e) || e.Reason != NotFound {
			t.Errorf("%v", err)
		}
	}
	// Where it is short, each place is looked at.
	data[3<<20] = '\r'
	if r, err := Apply(data, []Edit{{Old: "\r\n", New: "\n"}}); err != nil || len(r.Data) != len(data)-1 {
		t.Errorf("%d bytes, %v", len(r.Data), err)
	}
}

func FuzzApply(f *testing.F) {
	f.Add([]byte("a\r\nb\nc"), "a\nb", "x\ny\n", "c", "d", false)
	f.Add([]byte("\xef\xbb\xbfa\r\r\n\n"), "\r\n", "\n", "", "", true)
	f.Fuzz(func(t *testing.T, data []byte, old1, new1, old2, new2 string, all bool) {
		edits := []Edit{{old1, new1, all}}
		checkApply(t, data, edits)
		checkApply(t, data, append(edits, Edit{old2, new2, false}))
	})
}

// TestRandom uses old texts from the file, so that most are found.
func TestRandom(t *testing.T) {
	made := 0
	for seed := range uint64(3000) {
		r := rand.New(rand.NewPCG(seed, 3))
		piece := func(n int) string {
			var b strings.Builder
			for range r.IntN(n + 1) {
				b.WriteString([]string{"a", "b", "xyz", "é", " ", "\n", "\n", "\r\n", "\r\n", "\t"}[r.IntN(10)])
			}
			return b.String()
		}
		data := []byte(piece(60))
		var edits []Edit
		for range 1 + r.IntN(3) {
			e := Edit{Old: piece(4), New: piece(6), All: r.IntN(3) == 0}
			if len(data) > 0 && r.IntN(5) > 0 {
				from := r.IntN(len(data))
				e.Old = unify(string(data[from:min(len(data), from+1+r.IntN(12))]))
			}
			edits = append(edits, e)
		}
		checkApply(t, data, edits)
		if _, err := Apply(data, edits); err == nil {
			made++
		}
	}
	if made < 300 {
		t.Errorf("only %d edits were made: too few for a proof", made)
	}
}
