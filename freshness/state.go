package freshness

import (
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/stet-dev/stet/workspace"
)

// File is what is known of one file.
type File struct {
	Path string `json:"path"` // as it was last spelled

	// Version is the content that the session last saw or wrote, "" when that
	// is not known. Stamp goes with it; it vouches for the version when
	// Settled.
	Version workspace.Version `json:"version,omitempty"`
	Stamp   workspace.Stamp   `json:"stamp,omitzero"`
	Settled bool              `json:"settled,omitempty"`

	Reads  int     `json:"reads,omitempty"` // since the last invalidation
	Shown  []Range `json:"shown,omitempty"` // lines of Version that were shown, ascending
	Whole  bool    `json:"whole,omitempty"` // the session knows all of Version: it was shown every line, or wrote it
	Status Status  `json:"status"`          // as of the last observation

	// Told is the version of somebody else's that the session was told is there,
	// without being told what it says.
	Told workspace.Version `json:"told,omitempty"`

	ReadAt   time.Time `json:"read_at,omitzero"`
	EditedAt time.Time `json:"edited_at,omitzero"`
	Access   time.Time `json:"access"` // the later of the two
	Order    int       `json:"order"`  // of accesses: what came later has more
}

// Conflict reports whether somebody else changed or removed the file after the
// session saw it.
func (f File) Conflict() bool { return f.Status == Modified || f.Status == Deleted }

// Covers reports whether these lines of this version were shown. (TRK-9)
func (f File) Covers(v workspace.Version, lines Range) bool {
	return v != "" && v == f.Version && covers(f.Shown, lines)
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
	case Told:
		s.told(f, o)
	}
}

// read is CTX-6, TRK-2 and TRK-9. What was read before the session's own last
// edit is the past: it is not what the session knows.
func (s *State) read(f *File, o Observation) {
	if o.Gone || o.Time.Before(f.EditedAt) {
		return
	}
	if o.Version != f.Version || o.Version == "" {
		f.Shown, f.Whole = nil, false
	}
	s.touch(f, o)
	f.Shown = add(f.Shown, o.Lines)
	f.Whole = f.Whole || covers(f.Shown, Range{})
	f.Reads++
	f.ReadAt = o.Time
}

// edited is CTX-7 and TRK-7.
func (s *State) edited(f *File, o Observation) {
	if o.Gone {
		s.drop(f)
		return
	}
	s.touch(f, o)
	f.Reads, f.Shown, f.Whole = 0, nil, !o.Part
	f.EditedAt = o.Time
}

// told takes what somebody else did for known. Which lines were shown is not,
// since the change moved them. What the session was told of while it worked on
// the file itself is the past.
func (s *State) told(f *File, o Observation) {
	switch {
	case o.Time.Before(f.Access):
	case o.Gone:
		s.drop(f)
	case o.Part:
		f.Told, f.Status = o.Version, Modified
	default:
		f.Version, f.Stamp, f.Settled = o.Version, o.Stamp, settled(o)
		f.Shown, f.Told, f.Status = nil, "", Fresh
	}
}

// touch takes what is there for what the session knows.
func (s *State) touch(f *File, o Observation) {
	s.order++
	f.Path, f.Version, f.Access, f.Order = o.Path, o.Version, o.Time, s.order
	f.Stamp, f.Settled, f.Told = o.Stamp, settled(o), ""
	f.Status = Fresh
	if o.Version == "" {
		f.Status = Unknown
	}
}

func settled(o Observation) bool {
	return o.Stamp != workspace.Stamp{} && o.Stamp.Settled(o.Time)
}

// seen is CTX-8. A look that began before the session's last access says
// nothing of what came after.
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

// find returns the file of that name. Of a name spelled otherwise it is the
// same file unless both identities are known and differ. (TRK-5)
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

// File returns what is known of a file. The stamp is that of what is there
// now and may be zero; it tells files apart whose names differ in case only.
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

// Conflicts lists the files that somebody else changed or removed after the
// session saw them, by path. (CTX-7, CTX-8)
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

// stored is a State as JSON.
type stored struct {
	Files []File `json:"files"`
	Order int    `json:"order"`
}

// MarshalJSON writes the files, the one accessed last first.
func (s *State) MarshalJSON() ([]byte, error) {
	files := s.Files()
	if files == nil {
		files = []File{}
	}
	return json.Marshal(stored{files, s.order})
}

// UnmarshalJSON reads what MarshalJSON wrote.
func (s *State) UnmarshalJSON(data []byte) error {
	var in stored
	if err := json.Unmarshal(data, &in); err != nil {
		return fmt.Errorf("freshness: %w", err)
	}
	*s = State{files: map[string][]*File{}, order: in.Order}
	for _, f := range in.Files {
		if f.Path == "" {
			return fmt.Errorf("freshness: a file without a path")
		}
		shown := f.Shown
		f.Shown = nil
		for _, r := range shown {
			f.Shown = add(f.Shown, r)
		}
		f.Path = clean(f.Path)
		s.order = max(s.order, f.Order)
		k := fold(f.Path)
		s.files[k] = append(s.files[k], &f)
		slices.SortFunc(s.files[k], func(a, b *File) int { return a.Order - b.Order })
	}
	return nil
}

func clean(name string) string { return path.Clean(strings.ReplaceAll(name, `\`, "/")) }

// fold makes names equal that differ in case only.
func fold(name string) string { return strings.ToLower(strings.ToUpper(name)) }
