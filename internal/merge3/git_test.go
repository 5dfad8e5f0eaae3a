package merge3

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// gitMerge merges with git. conflicts is the number of conflicts, but 127 also stands for more.
func gitMerge(t testing.TB, dir, base, ours, theirs string) (text string, conflicts int) {
	t.Helper()
	for name, content := range map[string]string{"base": base, "ours": ours, "theirs": theirs} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command("git", "merge-file", "-p", "-q", "-L", "ours", "-L", "base", "-L", "theirs", "ours", "base", "theirs")
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_NOSYSTEM=1", "GIT_CEILING_DIRECTORIES="+filepath.Dir(dir))
	out, err := cmd.Output()
	var exit *exec.ExitError
	if errors.As(err, &exit) && exit.ExitCode() > 0 && exit.ExitCode() <= 127 {
		return string(out), exit.ExitCode()
	}
	if err != nil {
		t.Fatal(err)
	}
	return string(out), 0
}

func needGit(t testing.TB) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("no git here")
	}
}

// check compares a merge with git's: the text with its markers, and the number of conflicts. There is one exception: if base has no
// line end, git ends its markers with LF, and this package uses the line end of the two sides.
func check(t testing.TB, dir, base, ours, theirs string) (conflicts int) {
	t.Helper()
	want, n := gitMerge(t, dir, base, ours, theirs)
	got := Merge(base, ours, theirs, Options{Ours: "ours", Theirs: "theirs"})
	text := got.Text
	if !strings.Contains(base, "\n") {
		text, want = strings.ReplaceAll(text, "\r\n", "\n"), strings.ReplaceAll(want, "\r\n", "\n")
	}
	if text != want || min(got.Conflicts, 127) != n {
		silent := ""
		if got.Conflicts == 0 && n > 0 {
			silent = " SILENT MERGE;"
		}
		t.Fatalf("%s %d conflicts, git has %d\nbase   %q\nours   %q\ntheirs %q\ngot  %q\nwant %q",
			silent, got.Conflicts, n, base, ours, theirs, got.Text, want)
	}
	checkHunks(t, ours, theirs, got)
	return n
}

// checkHunks rebuilds the merged text from ours, theirs and the hunks.
func checkHunks(t testing.TB, ours, theirs string, r Result) {
	t.Helper()
	var m merger
	m.lines = map[string]int32{}
	o, y, merged := m.text(ours).lines, m.text(theirs).lines, m.text(r.Text).lines
	var b strings.Builder
	next, conflicts := 0, 0
	join := func(lines []string) { b.WriteString(strings.Join(lines, "")) }
	for _, h := range r.Hunks {
		join(o[next:h.Ours.Start])
		next = h.Ours.End
		switch h.Kind {
		case Ours:
			join(o[h.Ours.Start:h.Ours.End])
		case Theirs:
			join(y[h.Theirs.Start:h.Theirs.End])
		case Conflict:
			conflicts++
			if h.Merged.lines() != h.Ours.lines()+h.Theirs.lines()+3 {
				t.Fatalf("conflict of %d lines: %+v", h.Merged.lines(), h)
			}
			join(merged[h.Merged.Start:h.Merged.End])
		default:
			t.Fatalf("hunk of kind %d", h.Kind)
		}
	}
	join(o[next:])
	if b.String() != r.Text || conflicts != r.Conflicts {
		t.Fatalf("hunks %+v make %q, not %q", r.Hunks, b.String(), r.Text)
	}
}

// story makes three texts from a seed: a base, and two sides with changes, some of them common. The amount of randomness is random,
// too.
func story(seed uint64) (base, ours, theirs string) {
	r := rand.New(rand.NewPCG(seed, 1))
	size := []int{1, 4, 12, 40, 150, 600, 2500}[r.IntN(7)]
	size = r.IntN(size + 1)
	letters := 1 + r.IntN([]int{2, 5, 20, 200, 5000}[r.IntN(5)])
	line := func() string {
		n := r.IntN(letters)
		switch {
		case n%11 == 3:
			return ""
		case n%11 == 4:
			return "}"
		}
		return fmt.Sprintf("line %d", n)
	}
	lines := func(n int) []string {
		all := make([]string, n)
		for i := range all {
			all[i] = line()
		}
		return all
	}
	text := lines(size)
	type edit struct {
		at, del int
		ins     []string
	}
	invent := func(n int) []edit {
		var all []edit
		for range n {
			e := edit{at: r.IntN(len(text) + 1)}
			most := 1 + r.IntN([]int{2, 4, 30}[r.IntN(3)])
			if r.IntN(3) > 0 {
				e.del = min(r.IntN(most+1), len(text)-e.at)
			}
			if r.IntN(3) > 0 {
				e.ins = lines(r.IntN(most + 1))
			}
			if r.IntN(8) == 0 && len(text) > 0 { // a block twice
				from := r.IntN(len(text))
				e.ins = text[from:min(len(text), from+most)]
			}
			all = append(all, e)
		}
		return all
	}
	density := []int{0, 1, 3, 10, size / 3}[r.IntN(5)]
	shared := invent(r.IntN(1 + density/2))
	apply := func() []string {
		out := append([]string(nil), text...)
		for _, e := range append(invent(r.IntN(density+2)), shared...) {
			at := min(e.at, len(out))
			end := min(at+e.del, len(out))
			out = append(out[:at:at], append(append([]string(nil), e.ins...), out[end:]...)...)
		}
		return out
	}
	a, b := apply(), apply()
	style := r.IntN(5)
	write := func(lines []string) string {
		var s strings.Builder
		for i, l := range lines {
			s.WriteString(l)
			if i == len(lines)-1 && r.IntN(6) == 0 {
				break // no final newline
			}
			if style == 0 || style == 1 && r.IntN(5) == 0 {
				s.WriteString("\r")
			}
			s.WriteString("\n")
		}
		return s.String()
	}
	return write(text), write(a), write(b)
}

// Compares random three-way merges with git. STET_MERGES sets the number.
func TestAgainstGit(t *testing.T) {
	needGit(t)
	n := 400
	if s := os.Getenv("STET_MERGES"); s != "" {
		if _, err := fmt.Sscan(s, &n); err != nil {
			t.Fatal(err)
		}
	}
	dir, clean, conflicted := t.TempDir(), 0, 0
	for seed := range n {
		base, ours, theirs := story(uint64(seed))
		if check(t, dir, base, ours, theirs) > 0 {
			conflicted++
		} else {
			clean++
		}
	}
	t.Logf("%d clean, %d with conflicts", clean, conflicted)
	if clean < n/10 || conflicted < n/10 {
		t.Errorf("%d clean, %d with conflicts: too few of one to prove anything", clean, conflicted)
	}
}

func FuzzAgainstGit(f *testing.F) {
	needGit(f)
	f.Add(uint64(1))
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, seed uint64) {
		base, ours, theirs := story(seed)
		check(t, dir, base, ours, theirs)
	})
}
