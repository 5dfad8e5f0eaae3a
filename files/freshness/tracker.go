package freshness

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"github.com/stet-dev/stet/files/workspace"
)

// Tracker holds the State of one session for several goroutines. The zero Tracker is
// ready. A nil Tracker remembers nothing.
type Tracker struct {
	// Stamp returns what the system says of a file now, the zero Stamp where
	// there is none; it distinguishes files whose names differ in case only.
	// Nil: names alone decide.
	Stamp func(path string) workspace.Stamp
	// Now is the clock; nil: time.Now.
	Now func() time.Time

	mu    sync.Mutex
	state State
	watch func(Observation)
}

// HasBeenRead reports whether the file was read since it was last
// invalidated.
func (t *Tracker) HasBeenRead(path string) bool { return t.ReadCount(path) > 0 }

// TrackRead counts a read of the whole file.
func (t *Tracker) TrackRead(path string) {
	if t != nil {
		now := t.now()
		t.Observe(Observation{Kind: Read, Path: path, Stamp: t.stamp(path), Time: now})
	}
}

// InvalidateRead forgets that the file was read.
func (t *Tracker) InvalidateRead(path string) {
	if t != nil {
		t.Observe(Observation{Kind: Forgot, Path: path, Stamp: t.stamp(path), Time: t.now()})
	}
}

// ReadCount returns how often the file was read since it was last invalidated.
func (t *Tracker) ReadCount(path string) int {
	if t == nil {
		return 0
	}
	f, _ := t.File(path, t.stamp(path))
	return f.Reads
}

// ReadFiles lists the files that were read and not invalidated since, by path.
func (t *Tracker) ReadFiles() []string {
	var out []string
	for _, f := range t.Files() {
		if f.Reads > 0 {
			out = append(out, f.Path)
		}
	}
	slices.Sort(out)
	return out
}

func (t *Tracker) stamp(path string) workspace.Stamp {
	if t.Stamp == nil {
		return workspace.Stamp{}
	}
	return t.Stamp(path)
}

func (t *Tracker) now() time.Time {
	if t.Now == nil {
		return time.Now()
	}
	return t.Now()
}

// Observe adds one observation.
func (t *Tracker) Observe(o Observation) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state.Observe(o)
	if t.watch != nil {
		t.watch(o)
	}
}

// Learn adds what the session did to a file by other means, as it was reported later and perhaps more than once. What is older than the session's last
// access counts only as far as it is about the version that the session knows.
func (t *Tracker) Learn(o Observation) {
	if f, known := t.File(o.Path, o.Stamp); known && !o.Time.After(f.Access) {
		if o.Kind != Read || o.Version != f.Version || f.Covers(o.Version, o.Lines) {
			return
		}
		o.Time = f.Access
	}
	t.Observe(o)
}

// Watch calls see with every observation from now on, in their order. nil ends it.
// see must not call the tracker.
func (t *Tracker) Watch(see func(Observation)) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.watch = see
}

// Restore replaces the State by the fold of these observations, those of a stored
// session.
func (t *Tracker) Restore(all []Observation) {
	if t == nil {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.state = *Fold(all)
}

// locked calls read with the tracker's state, and holds its lock meanwhile. Without a tracker (nil) the result is the zero value.
func locked[T any](t *Tracker, read func(*State) T) (out T) {
	if t == nil {
		return out
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	return read(&t.state)
}

// File returns what is known of a file; see State.File.
func (t *Tracker) File(path string, stamp workspace.Stamp) (f File, known bool) {
	f = locked(t, func(s *State) File { f, known = s.File(path, stamp); return f })
	return f, known
}

// Files lists all files, the one accessed last first.
func (t *Tracker) Files() []File { return locked(t, (*State).Files) }

// Conflicts lists the files that other programs changed; see State.Conflicts.
func (t *Tracker) Conflicts() []string { return locked(t, (*State).Conflicts) }

// Important lists the most important files; see State.Important.
func (t *Tracker) Important(o Selection) []string {
	return locked(t, func(s *State) []string { return s.Important(o) })
}

// Sight is what a look at the disk finds.
type Sight struct {
	Version workspace.Version // "" where it is not known
	Stamp   workspace.Stamp
	Gone    bool
}

// Look looks at a file on disk. Where the file still has the stamp that is given, it
// has the version that is given, which then need not be computed. A zero stamp says
// that the version has to be computed.
type Look func(ctx context.Context, path string, stamp workspace.Stamp, version workspace.Version) (Sight, error)

// Check compares what is on disk with what the session saw. A file that was touched
// and has the same content is fresh. No lock is held while look is called.
func (t *Tracker) Check(ctx context.Context, path string, look Look) (Status, error) {
	if t == nil {
		return Unknown, nil
	}
	f, ok := t.File(path, workspace.Stamp{})
	if !ok {
		return Unknown, nil
	}
	var stamp workspace.Stamp
	if f.Settled {
		stamp = f.Stamp
	}
	began := t.now()
	s, err := look(ctx, f.Path, stamp, f.Version)
	if err != nil {
		return Unknown, err
	}
	t.Observe(Observation{Kind: Seen, Path: f.Path, Version: s.Version, Stamp: s.Stamp, Gone: s.Gone, Time: began})
	f, _ = t.File(f.Path, workspace.Stamp{})
	return f.Status, nil
}

// In returns the Look at the files of a workspace.
func In(r *workspace.Root) Look {
	return func(ctx context.Context, name string, stamp workspace.Stamp, version workspace.Version) (Sight, error) {
		p, err := r.Path(name)
		if err != nil {
			return Sight{}, err
		}
		t, err := r.Inspect(p)
		switch {
		case errors.Is(err, workspace.ErrNotFound):
			return Sight{Gone: true}, nil
		case err != nil:
			return Sight{}, err
		case t.Kind != workspace.File:
			return Sight{Gone: true}, nil
		case version == "" || stamp != workspace.Stamp{} && t.Stamp == stamp:
			return Sight{Version: version, Stamp: t.Stamp}, nil
		}
		v, err := r.Version(ctx, p)
		if err != nil {
			return Sight{}, err
		}
		return Sight{Version: v, Stamp: t.Stamp, Gone: v == ""}, nil
	}
}
