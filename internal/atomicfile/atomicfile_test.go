package atomicfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// place is a directory for a test.
type place struct {
	*Dir
	t    *testing.T
	path string
}

func newPlace(t *testing.T) *place {
	t.Helper()
	path := t.TempDir()
	d, err := OpenDir(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := d.Close(); err != nil {
			t.Error(err)
		}
	})
	return &place{d, t, path}
}

func (p *place) put(name, text string) {
	p.t.Helper()
	if err := os.WriteFile(filepath.Join(p.path, name), []byte(text), 0o644); err != nil {
		p.t.Fatal(err)
	}
}

// has checks the content of the directory: "name=content name=content".
func (p *place) has(want string) {
	p.t.Helper()
	entries, err := os.ReadDir(p.path)
	if err != nil {
		p.t.Fatal(err)
	}
	var got []string
	for _, e := range entries {
		b, err := os.ReadFile(filepath.Join(p.path, e.Name()))
		if err != nil {
			b = []byte("?")
		}
		got = append(got, e.Name()+"="+string(b))
	}
	if s := strings.Join(got, " "); s != want {
		p.t.Errorf("there is %q, want %q", s, want)
	}
}

func (p *place) temp(text string) *Temp {
	p.t.Helper()
	t, err := NewTemp(p.Dir, "temp", 0o600)
	if err == nil {
		_, err = io.WriteString(t, text)
	}
	if err == nil {
		err = t.Sync()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	return t
}

func content(f *os.File) string {
	b, _ := io.ReadAll(f)
	return string(b)
}

var errNo = errors.New("no")

// ways runs try for both ways of replacing a file: with and without exchange.
func ways(t *testing.T, try func(t *testing.T, over func(*Temp, string, Accept) error)) {
	t.Run("over", func(t *testing.T) { try(t, (*Temp).Over) })
	t.Run("rename", func(t *testing.T) { try(t, (*Temp).rename) })
}

func TestOver(t *testing.T) {
	ways(t, func(t *testing.T, over func(*Temp, string, Accept) error) {
		p := newPlace(t)
		p.put("f", "old")
		temp := p.temp("new")
		err := over(temp, "f", func(f *os.File, _ string) error {
			if content(f) != "old" {
				return errNo
			}
			return nil
		})
		if err := errors.Join(err, temp.Close(), temp.Close()); err != nil {
			t.Error(err)
		}
		p.has("f=new")
	})
}

func TestOverRefused(t *testing.T) {
	ways(t, func(t *testing.T, over func(*Temp, string, Accept) error) {
		p := newPlace(t)
		p.put("f", "old")
		temp := p.temp("new")
		err := over(temp, "f", func(*os.File, string) error { return errNo })
		if !errors.Is(err, errNo) {
			t.Error(err)
		}
		if err := temp.Close(); err != nil {
			t.Error(err)
		}
		p.has("f=old")
	})
}

func TestOverNothing(t *testing.T) {
	ways(t, func(t *testing.T, over func(*Temp, string, Accept) error) {
		p := newPlace(t)
		temp := p.temp("new")
		err := over(temp, "f", func(*os.File, string) error { return nil })
		if !errors.Is(err, fs.ErrNotExist) {
			t.Error(err)
		}
		if err := temp.Close(); err != nil {
			t.Error(err)
		}
		p.has("")
	})
}

// Another program puts a third file in place between the exchange and the restore. That file is the newest and stays.
func TestNewerFileStays(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files are not exchanged here")
	}
	p := newPlace(t)
	p.put("f", "old")
	temp := p.temp("new")
	err := temp.Over("f", func(*os.File, string) error {
		p.put("third", "newest")
		if err := os.Rename(filepath.Join(p.path, "third"), filepath.Join(p.path, "f")); err != nil {
			t.Error(err)
		}
		return errNo
	})
	if !errors.Is(err, errNo) {
		t.Error(err)
	}
	if err := temp.Close(); err != nil {
		t.Error(err)
	}
	p.has("f=newest")
}

// Or another program removes the file. Then it stays removed.
func TestRemovedMeanwhile(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("files are not exchanged here")
	}
	p := newPlace(t)
	p.put("f", "old")
	temp := p.temp("new")
	err := temp.Over("f", func(*os.File, string) error {
		if err := os.Remove(filepath.Join(p.path, "f")); err != nil {
			t.Error(err)
		}
		return errNo
	})
	if !errors.Is(err, errNo) {
		t.Error(err)
	}
	if err := temp.Close(); err != nil {
		t.Error(err)
	}
	p.has("")
}

// A link that has replaced the file is restored, and its target is not touched.
func TestLinkInPlace(t *testing.T) {
	p := newPlace(t)
	p.put("target", "target")
	if err := os.Symlink("target", filepath.Join(p.path, "f")); err != nil {
		t.Skip(err)
	}
	ways(t, func(t *testing.T, over func(*Temp, string, Accept) error) {
		temp := p.temp("new")
		err := over(temp, "f", func(*os.File, string) error { return nil })
		if !errors.Is(err, ErrLink) {
			t.Error(err)
		}
		if err := temp.Close(); err != nil {
			t.Error(err)
		}
		p.has("f=target target=target")
	})
}

func TestPlace(t *testing.T) {
	p := newPlace(t)
	temp := p.temp("new")
	if err := errors.Join(temp.Place("f"), temp.Close()); err != nil {
		t.Error(err)
	}
	p.has("f=new")
	temp = p.temp("newer")
	if err := temp.Place("f"); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
	if err := temp.Close(); err != nil {
		t.Error(err)
	}
	p.has("f=new")
	if _, err := NewTemp(p.Dir, "f", 0o600); !errors.Is(err, fs.ErrExist) {
		t.Error(err)
	}
}

func TestRemove(t *testing.T) {
	p := newPlace(t)
	p.put("f", "old")
	err := Remove(p.Dir, "f", "aside", func(*os.File, string) error { return errNo })
	if !errors.Is(err, errNo) {
		t.Error(err)
	}
	p.has("f=old")
	// Another program makes the file meanwhile. It is newer and stays, and the old one is not lost.
	err = Remove(p.Dir, "f", "aside", func(*os.File, string) error { p.put("f", "newer"); return errNo })
	if !errors.Is(err, errNo) || !strings.Contains(err.Error(), "aside") {
		t.Error(err)
	}
	p.has("aside=old f=newer")
	if err := p.Dir.Remove("aside"); err != nil {
		t.Error(err)
	}
	err = Remove(p.Dir, "f", "aside", func(f *os.File, _ string) error {
		if content(f) != "newer" {
			return errNo
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	p.has("")
}

// It is not an error if accept has moved the file away.
func TestMoveOut(t *testing.T) {
	p := newPlace(t)
	p.put("f", "old")
	to := filepath.Join(t.TempDir(), "moved")
	temp := p.temp("new")
	err := temp.Over("f", func(_ *os.File, aside string) error {
		if aside == "" {
			return errors.ErrUnsupported
		}
		return p.MoveOut(aside, to)
	})
	if errors.Is(err, errors.ErrUnsupported) {
		t.Skip("files are not exchanged here")
	}
	if err := errors.Join(err, temp.Close()); err != nil {
		t.Error(err)
	}
	p.has("f=new")
	if b, err := os.ReadFile(to); err != nil || string(b) != "old" {
		t.Errorf("%q, %v", b, err)
	}
}

// Paths of several components: links are reported, not followed, with one system call or several.
func TestPaths(t *testing.T) {
	p := newPlace(t)
	if err := os.MkdirAll(filepath.Join(p.path, "a", "b"), 0o755); err != nil {
		t.Fatal(err)
	}
	p.put("a/b/f", "x")
	if err := os.Symlink("a", filepath.Join(p.path, "link")); err != nil {
		t.Skip(err)
	}
	for _, slow := range []bool{false, true} {
		if slow {
			p.StepByStep()
		}
		f, err := p.Open("a/b/f")
		if slow || runtime.GOOS != "linux" {
			if !errors.Is(err, errors.ErrUnsupported) {
				t.Error(err)
			}
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		_ = f.Close()
		for path, want := range map[string]error{"link/b/f": ErrLink, "a/b/f/x": ErrNotDir, "a/none/f": fs.ErrNotExist, "a/../../x": fs.ErrInvalid} {
			_, err := p.Open(path)
			if want == fs.ErrInvalid && err != nil {
				continue // refused, with any error
			}
			if !errors.Is(err, want) {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	if _, err := p.Sub("link"); !errors.Is(err, ErrLink) {
		t.Error(err)
	}
	if _, err := p.Open("link"); !errors.Is(err, ErrLink) {
		t.Error(err)
	}
	if st, err := p.Stat("link"); err != nil || st.Mode&fs.ModeSymlink == 0 {
		t.Error(st, err)
	}
}
