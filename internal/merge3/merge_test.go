package merge3

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/internal/diff"
)

const abc = "a\nb\nc\nd\ne\nf\n"

// FILE-15: clean merges and conflicts.
func TestMerge(t *testing.T) {
	tests := []struct {
		name               string
		base, ours, theirs string
		want               string
		conflicts          int
	}{
		{"nothing changed", abc, abc, abc, abc, 0},
		{"ours only", abc, "A\nb\nc\nd\ne\nf\n", abc, "A\nb\nc\nd\ne\nf\n", 0},
		{"theirs only", abc, abc, "a\nb\n", "a\nb\n", 0},
		{"both, apart", abc, "A\nb\nc\nd\ne\nf\n", "a\nb\nc\nd\ne\nF\n", "A\nb\nc\nd\ne\nF\n", 0},
		{"one line between", abc, "a\nB\nc\nd\ne\nf\n", "a\nb\nc\nD\ne\nf\n", "a\nB\nc\nD\ne\nf\n", 0},
		{"side by side", abc, "a\nB\nc\nd\ne\nf\n", "a\nb\nC\nd\ne\nf\n",
			"a\n<<<<<<< mine\nB\nc\n=======\nb\nC\n>>>>>>> disk\nd\ne\nf\n", 1},
		{"same change", abc, "a\nX\nc\nd\ne\nf\n", "a\nX\nc\nd\ne\nf\n", "a\nX\nc\nd\ne\nf\n", 0},
		{"same change and another", abc, "a\nX\nc\nd\ne\nf\n", "a\nX\nc\nd\nE\nf\n", "a\nX\nc\nd\nE\nf\n", 0},
		{"both delete", abc, "a\nd\ne\nf\n", "a\nd\ne\nf\n", "a\nd\ne\nf\n", 0},
		{"changed and deleted", "a\nb\nc\n", "a\nB\nc\n", "a\nc\n", "a\n<<<<<<< mine\nB\n=======\n>>>>>>> disk\nc\n", 1},
		{"both insert at one place", "a\nb\n", "a\nx\nb\n", "a\ny\nb\n", "a\n<<<<<<< mine\nx\n=======\ny\n>>>>>>> disk\nb\n", 1},
		{"narrowed at both ends", "a\nb\n", "a\np\nx\nq\nb\n", "a\np\ny\nq\nb\n",
			"a\np\n<<<<<<< mine\nx\n=======\ny\n>>>>>>> disk\nq\nb\n", 1},
		{"no final newline", "a\nb", "a\nx", "a\ny", "a\n<<<<<<< mine\nx\n=======\ny\n>>>>>>> disk\n", 1},
		{"final newline added and line changed", "a\nb\nc", "A\nb\nc", "a\nb\nc\n", "A\nb\nc\n", 0},
		{"CRLF", "a\r\nb\r\nc\r\n", "a\r\nx\r\nc\r\n", "a\r\ny\r\nc\r\n",
			"a\r\n<<<<<<< mine\r\nx\r\n=======\r\ny\r\n>>>>>>> disk\r\nc\r\n", 1},
		{"CRLF out of nothing", "", "x\r\n", "y\r\n",
			"<<<<<<< mine\r\nx\r\n=======\r\ny\r\n>>>>>>> disk\r\n", 1},
		{"line ends converted by one side", "a\nb\nc\n", "a\r\nb\r\nc\r\n", "a\nb\nC\n",
			"<<<<<<< mine\na\r\nb\r\nc\r\n=======\na\nb\nC\n>>>>>>> disk\n", 1},
		{"empty base, equal sides", "", "x\n", "x\n", "x\n", 0},
		{"all deleted by one", abc, "", abc, "", 0},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := Merge(tt.base, tt.ours, tt.theirs, Options{Ours: "mine", Theirs: "disk"})
			if got.Text != tt.want || got.Conflicts != tt.conflicts {
				t.Errorf("%d conflicts, %q; want %d, %q", got.Conflicts, got.Text, tt.conflicts, tt.want)
			}
			checkHunks(t, tt.ours, tt.theirs, got)
		})
	}
}

func TestHunks(t *testing.T) {
	r := Merge(abc, "A\nb\nc\nd\ne\nf\n", "a\nb\nx\ny\nd\ne\n", Options{})
	want := []Hunk{
		{Ours, Range{0, 1}, Range{0, 1}, Range{0, 1}, Range{0, 1}},
		{Theirs, Range{2, 3}, Range{2, 3}, Range{2, 4}, Range{2, 4}},
		{Theirs, Range{5, 6}, Range{5, 6}, Range{6, 6}, Range{6, 6}},
	}
	if !slices.Equal(r.Hunks, want) {
		t.Errorf("hunks %+v, want %+v", r.Hunks, want)
	}
}

// Exchanging the sides gives the same merge, except for the order of the texts.
func TestSides(t *testing.T) {
	for seed := range uint64(300) {
		base, ours, theirs := story(seed)
		x, y := Merge(base, ours, theirs, Options{}), Merge(base, theirs, ours, Options{})
		if (x.Conflicts == 0) != (y.Conflicts == 0) {
			t.Errorf("seed %d: %d conflicts, %d the other way round", seed, x.Conflicts, y.Conflicts)
		}
		if x.Conflicts == 0 && x.Text != y.Text {
			t.Errorf("seed %d: another text the other way round", seed)
		}
		if r := Merge(base, base, theirs, Options{}); r.Text != theirs {
			t.Errorf("seed %d: unchanged and theirs is not theirs", seed)
		}
		if r := Merge(base, ours, ours, Options{}); r.Text != ours {
			t.Errorf("seed %d: ours and ours is not ours", seed)
		}
	}
}

// Texts that are slow to compare without the search's optimisations.
func TestHard(t *testing.T) {
	needGit(t)
	dir := t.TempDir()
	for _, tt := range hard(30_000) {
		t.Run(tt.name, func(t *testing.T) { check(t, dir, tt.base, tt.ours, tt.theirs) })
	}
}

type hardCase struct{ name, base, ours, theirs string }

func hard(bytes int) []hardCase {
	r := rand.New(rand.NewPCG(7, 7))
	random := func(letters, per int) string {
		var b strings.Builder
		for b.Len() < bytes {
			fmt.Fprintf(&b, "%0*d\n", per, r.IntN(letters))
		}
		return b.String()
	}
	code := random(1<<30, 36)
	edit := func(every int) string {
		lines := slices.Collect(strings.Lines(code))
		for i := r.IntN(every); i < len(lines); i += 1 + r.IntN(2*every) {
			lines[i] = fmt.Sprintf("changed %d\n", r.IntN(1000))
		}
		return strings.Join(lines, "")
	}
	same := strings.Repeat("a\n", bytes/2)
	return []hardCase{
		{"few edits", code, edit(5000), edit(5000)},
		{"many edits", code, edit(20), edit(20)},
		{"every line edited", code, random(1<<30, 36), random(1<<30, 36)},
		{"all lines equal", same, same[:len(same)/2], same + same},
		{"two letters", random(2, 1), random(2, 1), random(2, 1)},
		{"ten letters", random(10, 4), random(10, 4), random(10, 4)},
		{"hundred letters", random(100, 12), random(100, 12), random(100, 12)},
		{"shuffled", code, shuffle(r, code), shuffle(r, code)},
		{"one long line", strings.Repeat("x", bytes), strings.Repeat("x", bytes) + "y", "z" + strings.Repeat("x", bytes)},
	}
}

func shuffle(r *rand.Rand, text string) string {
	lines := slices.Collect(strings.Lines(text))
	r.Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
	return strings.Join(lines, "")
}

// When the work is used up, lines that were not compared count as changed. The alignment is still valid, and no merge is clean that
// would otherwise be a conflict.
func TestWorkRunsOut(t *testing.T) {
	gaveUp := 0
	for seed := range uint64(300) {
		base, ours, theirs := story(seed)
		m := merger{lines: map[string]int32{}}
		x, y := m.text(base), m.text(ours)
		full := Merge(base, ours, theirs, Options{})
		for _, work := range []int{0, 1, 10, 100, 1000} {
			a := diff.Aligner{Work: work}
			i, j := 0, 0
			for _, c := range append(a.Align(x.numbers, y.numbers, len(m.lines)),
				diff.Change{A0: len(x.lines), A1: len(x.lines), B0: len(y.lines), B1: len(y.lines)}) {
				if c.A0 < i || c.B0 < j || !slices.Equal(x.lines[i:c.A0], y.lines[j:c.B0]) {
					t.Fatalf("seed %d, work %d: lines from %d and %d to %+v are not equal", seed, work, i, j, c)
				}
				i, j = c.A1, c.B1
			}
			r := merge(base, ours, theirs, Options{}, work)
			checkHunks(t, ours, theirs, r)
			if r.Conflicts > 0 && full.Conflicts == 0 {
				gaveUp++
			}
			if r.Conflicts == 0 && r.Text != full.Text {
				t.Errorf("seed %d, work %d: merged to another text", seed, work)
			}
		}
	}
	if gaveUp == 0 {
		t.Error("the work was not used up")
	}
}

func FuzzMerge(f *testing.F) {
	f.Add(abc, "a\nB\nc\n", "x\r\n")
	f.Add("", "\r", "\n")
	f.Add("a\n\n\nb", "a\n\nb\n", "a\nb")
	f.Fuzz(func(t *testing.T, base, ours, theirs string) {
		checkHunks(t, ours, theirs, Merge(base, ours, theirs, Options{"a", "b"}))
		if r := Merge(base, ours, base, Options{}); r.Text != ours || r.Conflicts != 0 {
			t.Fatalf("ours alone: %+v", r)
		}
	})
}
