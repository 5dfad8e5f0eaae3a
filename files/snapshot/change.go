package snapshot

import (
	"bytes"
	"encoding/gob"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Node is what is at a path. It is a file, a directory, a symbolic link, or something special such as a pipe.
type Node struct {
	Mode fs.FileMode // type and permissions
	Size int64       // bytes of a file
	Sum  string      // SHA-256 of a file's content in hex, which the Store has; "": it is not kept
	Link string      // where a symbolic link leads

	// Same is equal in all names of one file that has several.
	Same string

	// Twin is another name of the file that the command has left: the path is made a name of it again.
	Twin string

	// Stamp identifies a file whose content is not kept: it is equal as long as nobody writes to the file.
	Stamp string

	now  string // the stamp of a file that was just looked at
	blob string // git's name of the content, until it is copied into the Store
}

// Equal reports whether both are the same: type, permissions, content and link. Where a content is not kept, the stamps decide.
func (n *Node) Equal(o *Node) bool {
	if n == nil || o == nil {
		return n == o
	}
	return n.Mode == o.Mode && n.Link == o.Link && n.Sum == o.Sum && n.blob == o.blob && n.Size == o.Size && n.Stamp == o.Stamp
}

// Change is what happened to one path. nil means that nothing is there.
type Change struct {
	Path   string // relative to the tree, with slashes
	Before *Node
	After  *Node
}

// validPath reports whether a path stays below the directory that it is relative to. Its names need not be UTF-8.
func validPath(p string) bool {
	return fs.ValidPath(strings.ToValidUTF8(p, "x")) && !strings.Contains(p, "\x00")
}

// Changes are what a call changed, by path.
type Changes map[string]Change

// add joins a later change of the same path to an earlier one. A path that is as it was in the beginning is no change.
func (cs Changes) add(c Change) {
	if earlier, ok := cs[c.Path]; ok {
		c.Before = earlier.Before
	}
	if c.Before.Equal(c.After) {
		delete(cs, c.Path)
		return
	}
	cs[c.Path] = c
}

// Add joins later changes to earlier ones. It returns the paths at which they do not fit together, because
// somebody else changed the path in between. There the later change counts alone.
func (cs Changes) Add(later Changes) (gaps []string) {
	for path, c := range later {
		if earlier, ok := cs[path]; ok && !earlier.After.Equal(c.Before) {
			gaps = append(gaps, path)
			delete(cs, path)
		}
		cs.add(c)
	}
	slices.Sort(gaps)
	return gaps
}

// Sorted returns the changes ordered by path.
func (cs Changes) Sorted() []Change {
	return slices.SortedFunc(maps.Values(cs), func(a, b Change) int { return strings.Compare(a.Path, b.Path) })
}

// maxManifest is the limit of a list of changes, in bytes.
const maxManifest = 256 << 20

// Save stores the result in the format of encoding/gob, which keeps the bytes of names: first the result without its changes, then the changes by path.
// It returns the name of the content.
func (r Result) Save(s *Store) (sum string, err error) {
	var b bytes.Buffer
	enc, changes := gob.NewEncoder(&b), r.Changes.Sorted()
	r.Changes = nil
	if err := errors.Join(enc.Encode(r), enc.Encode(changes)); err != nil {
		return "", err
	}
	return s.Put(b.Bytes())
}

// Load reads a result that Save has stored.
func Load(s *Store, sum string) (r Result, err error) {
	data, err := s.Get(sum, maxManifest)
	if err != nil {
		return Result{}, err
	}
	var changes []Change
	dec := gob.NewDecoder(bytes.NewReader(data))
	err = errors.Join(dec.Decode(&r), dec.Decode(&changes))
	r.Changes = Changes{}
	for _, c := range changes {
		if !validPath(c.Path) {
			err = errors.Join(err, fmt.Errorf("%q is no path", c.Path))
		}
		r.Changes[c.Path] = c
	}
	if err != nil {
		return Result{}, fmt.Errorf("kept changes %.12s: %w", sum, err)
	}
	return r, nil
}
