package freshness

import (
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/workspace"
)

// File is what is known of one file of a session.
type File struct {
	Path string // as it was spelled last

	// Version is the content that the session last saw or wrote, "" where that is
	// not known. Stamp is what the system said of the file then. If Settled, a file
	// with the same Stamp has the same Version.
	Version workspace.Version
	Stamp   workspace.Stamp
	Settled bool

	Reads  int    // since the last invalidation
	Shown  Ranges // lines of Version that were shown, ascending
	Whole  bool   // the session knows all of Version: it was shown every line, or wrote it
	Status Status // as of the last observation

	// Reported is a version that another program wrote. That it is there was reported to
	// the session, and not what it says.
	Reported workspace.Version

	ReadAt   time.Time
	EditedAt time.Time
	Access   time.Time // the later of the two
	Order    int       // of accesses: what came later has more
}

// Conflict reports whether another program changed or removed the file after the
// session saw it.
func (f File) Conflict() bool { return f.Status == Modified || f.Status == Deleted }

// Covers reports whether these lines of this version were shown.
func (f File) Covers(v workspace.Version, lines Range) bool {
	return v != "" && v == f.Version && f.Shown.Covers(lines)
}

// State is the fold of a session's observations. The zero State has seen
// nothing. It is not for concurrent use; Tracker is.
type State struct {
	files map[string][]*File // by folded path: more than one when identities differ
	order int
}

// Fold returns the State that observations lead to.
func Fold(all []Observation) *State {
	s := &State{}
	for _, o := range all {
		s.Observe(o)
	}
	return s
}

// Observe adds one observation.
func (s *State) Observe(o Observation) {
	o.Path = clean(o.Path)
	f := s.find(o.Path, o.Stamp)
	if f == nil {
		if o.Kind != Read && o.Kind != Edited || o.Gone {
			return
		}
		f = &File{Path: o.Path, Status: Unknown}
		if s.files == nil {
			s.files = map[string][]*File{}
		}
		k := fold(o.Path)
		s.files[k] = append(s.files[k], f)
	}
	switch o.Kind {
	case Read:
		s.read(f, o)
	case Edited:
		s.edited(f, o)
	case Seen:
		f.seen(o)
	case Forgot:
		f.Reads, f.Shown, f.Whole = 0, nil, false
	case Reported:
		s.reported(f, o)
	}
}

// read adds what the session was shown. A read from before the session's own last
// edit does not count: the session knows what it wrote.
func (s *State) read(f *File, o Observation) {
	if o.Gone || o.Time.Before(f.EditedAt) {
		return
	}
	if o.Version != f.Version || o.Version == "" {
		f.Shown, f.Whole = nil, false
	}
	s.touch(f, o)
	f.Shown = f.Shown.Add(o.Lines)
	f.Whole = f.Whole || f.Shown.Covers(Range{})
	f.Reads++
	f.ReadAt = o.Time
}

// edited adds what the session wrote.
func (s *State) edited(f *File, o Observation) {
	if o.Gone {
		s.drop(f)
		return
	}
	knew := o.From != "" && f.Whole && f.Version == o.From
	s.touch(f, o)
	f.Reads, f.Shown, f.Whole = 0, nil, knew || !o.Part
	f.EditedAt = o.Time
}

// reported adds what was reported of another program's change. The lines that
// were shown do not count any more, since the change has moved them. What was
// reported before its own last access does not count.
func (s *State) reported(f *File, o Observation) {
	switch {
	case o.Time.Before(f.Access):
	case o.Gone:
		s.drop(f)
	case o.Part:
		f.Reported, f.Status = o.Version, Modified
	default:
		f.Version, f.Stamp, f.Settled = o.Version, o.Stamp, settled(o)
		f.Shown, f.Reported, f.Status = nil, "", Fresh
	}
}

// touch makes what was observed what the session knows.
func (s *State) touch(f *File, o Observation) {
	s.order++
	f.Path, f.Version, f.Access, f.Order = o.Path, o.Version, o.Time, s.order
	f.Stamp, f.Settled, f.Reported = o.Stamp, settled(o), ""
	f.Status = Fresh
	if o.Version == "" {
		f.Status = Unknown
	}
}

func settled(o Observation) bool {
	return o.Stamp != workspace.Stamp{} && o.Stamp.Settled(o.Time)
}

// seen compares what is on disk with what the session knows. A look that began before
// the session's last access does not count.
func (f *File) seen(o Observation) {
	if o.Time.Before(f.Access) {
		return
	}
	switch {
	case o.Gone:
		f.Status = Deleted
	case o.Version == "" || f.Version == "":
		f.Status = Unknown
	case o.Version == f.Version:
		f.Status, f.Stamp, f.Settled = Fresh, o.Stamp, settled(o)
	default:
		f.Status = Modified
	}
}

func (s *State) drop(f *File) {
	k := fold(f.Path)
	s.files[k] = slices.DeleteFunc(s.files[k], func(g *File) bool { return g == f })
	if len(s.files[k]) == 0 {
		delete(s.files, k)
	}
}

// find returns the file of that name. Where the name was spelled otherwise it is the
// same file, unless both identities are known and differ.
func (s *State) find(name string, stamp workspace.Stamp) *File {
	var like *File // the one accessed last
	for _, f := range s.files[fold(name)] {
		if f.Path == name {
			return f
		}
		known := f.Stamp.Ino != 0 && stamp.Ino != 0
		same := !known || f.Stamp.Ino == stamp.Ino && f.Stamp.Dev == stamp.Dev
		if same && (like == nil || f.Order > like.Order) {
			like = f
		}
	}
	return like
}

// File returns what is known of a file. stamp is the file's stamp now, which may be
// zero. It distinguishes files whose names differ in case only.
func (s *State) File(name string, stamp workspace.Stamp) (File, bool) {
	f := s.find(clean(name), stamp)
	if f == nil {
		return File{}, false
	}
	return f.clone(), true
}

func (f *File) clone() File {
	c := *f
	c.Shown = slices.Clone(f.Shown)
	return c
}

// Files lists all files, the one accessed last first.
func (s *State) Files() []File {
	var out []File
	for _, list := range s.files {
		for _, f := range list {
			out = append(out, f.clone())
		}
	}
	slices.SortFunc(out, func(a, b File) int { return b.Order - a.Order })
	return out
}

// Conflicts lists the files that other programs changed or removed after the session
// saw them, by path.
func (s *State) Conflicts() []string {
	var out []string
	for _, f := range s.Files() {
		if f.Conflict() {
			out = append(out, f.Path)
		}
	}
	slices.Sort(out)
	return out
}

func clean(name string) string { return path.Clean(strings.ReplaceAll(name, `\`, "/")) }

// fold makes names equal that differ in case only.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
