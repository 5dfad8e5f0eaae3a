package chat

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
)

// ending is the number of lines at the end of a screen that are compared. How far a screen has scrolled depends on when it was
// drawn, so its beginning is not compared.
const ending = 14

// shows waits until the end of the screen equals the one of that name in the test's archive.
func (term *terminal) shows(name string) { term.t.Helper(); term.compare(name, ending) }

// scrolled waits until everything that was shown, including what has scrolled away, equals the one of that name.
func (term *terminal) scrolled(name string) { term.t.Helper(); term.compare(name, 0) }

func (term *terminal) compare(name string, last int) {
	term.t.Helper()
	file := filepath.Join("testdata", term.t.Name()+".txtar")
	ar := new(txtar.Archive)
	if b, err := os.ReadFile(file); err == nil {
		ar = txtar.Parse(b)
	} else if !*update {
		term.t.Fatal(err)
	}
	i := slices.IndexFunc(ar.Files, func(f txtar.File) bool { return f.Name == name })
	if *update {
		screen := []byte(tail(settled(term.above), last))
		if i < 0 {
			ar.Files = append(ar.Files, txtar.File{Name: name, Data: screen})
		} else {
			ar.Files[i].Data = screen
		}
		if err := os.WriteFile(file, txtar.Format(ar), 0o644); err != nil {
			term.t.Fatal(err)
		}
		return
	}
	if i < 0 {
		term.t.Fatalf("%s has no screen %q", file, name)
	}
	want := string(ar.Files[i].Data)
	term.until(name+":\n"+want, term.above, func(seen string) bool { return tail(seen, last) == want })
}

// tail returns the last lines of a text; 0 means all.
func tail(text string, lines int) string {
	all := strings.SplitAfter(text, "\n")
	if lines == 0 || len(all) <= lines {
		return text
	}
	return strings.Join(all[len(all)-lines-1:], "")
}

// settled returns a screen after it has not changed for a while.
func settled(look func() string) string {
	last, same := "", 0
	for same < 20 {
		now := look()
		if now == last && strings.TrimSpace(now) != "" {
			same++
		} else {
			last, same = now, 0
		}
		time.Sleep(25 * time.Millisecond)
	}
	return last
}
