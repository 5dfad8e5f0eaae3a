package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
)

// Node is what is at a path. It is a file, a directory, a symbolic link, or something special such as a pipe.
type Node struct {
	Mode fs.FileMode `json:"mode"`           // type and permissions
	Size int64       `json:"size,omitempty"` // bytes of a file
	Sum  string      `json:"sum,omitempty"`  // SHA-256 of a file's content in hex, which the Store has; "": it is not kept
	Link string      `json:"link,omitempty"` // where a symbolic link leads

	// Same is equal in all names of one file that has several.
	Same string `json:"same,omitempty"`

	// Stamp identifies a file whose content is not kept: it is equal as long as nobody writes to the file.
	Stamp string `json:"stamp,omitempty"`

	now  string // the stamp of a file that was just looked at
	blob string // git's name of the content, until it is copied into the Store
}

// equal reports whether both are the same: type, permissions, content and link. Where a content is not kept, the stamps decide.
func (n *Node) equal(o *Node) bool {
	if n == nil || o == nil {
		return n == o
	}
	if n.Mode != o.Mode || n.Link != o.Link {
		return false
	}
	return n.Sum == o.Sum && n.blob == o.blob && n.Size == o.Size && n.Stamp == o.Stamp
}

// Kept reports whether the node can be made again: only files need a kept content, and special files are not made.
func (n *Node) Kept() bool {
	switch {
	case n == nil, n.Mode.IsDir(), n.Mode&fs.ModeSymlink != 0:
		return true
	}
	return n.Mode.IsRegular() && n.Sum != ""
}

// Change is what happened to one path. nil means that nothing is there.
type Change struct {
	Path   string `json:"path"` // relative to the tree, with slashes
	Before *Node  `json:"before,omitempty"`
	After  *Node  `json:"after,omitempty"`
}

// Changes are what a call changed, by path.
type Changes map[string]Change

// add joins a later change of the same path to an earlier one. A path that is as it was in the beginning is no change.
func (cs Changes) add(c Change) {
	if earlier, ok := cs[c.Path]; ok {
		c.Before = earlier.Before
	}
	if c.Before.equal(c.After) {
		delete(cs, c.Path)
		return
	}
	cs[c.Path] = c
}

// Add joins later changes to earlier ones. It returns the paths at which they do not fit together, because
// somebody else changed the path in between. There the later change counts alone.
func (cs Changes) Add(later Changes) (gaps []string) {
	for path, c := range later {
		if earlier, ok := cs[path]; ok && !earlier.After.equal(c.Before) {
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

// Save stores the result as lines of JSON: first the result without its changes, then a line for each change. It returns the name of the content.
func (r Result) Save(s *Store) (sum string, err error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	changes := r.Changes.Sorted()
	r.Changes = nil
	if err := enc.Encode(r); err != nil {
		return "", err
	}
	for _, c := range changes {
		if err := enc.Encode(c); err != nil {
			return "", err
		}
	}
	return s.Put(b.Bytes())
}

// Load reads a result that Save has stored.
func Load(s *Store, sum string) (Result, error) {
	data, err := s.Get(sum, maxManifest)
	if err != nil {
		return Result{}, err
	}
	head, rest, _ := bytes.Cut(data, []byte("\n"))
	var r Result
	err = json.Unmarshal(head, &r)
	r.Changes = Changes{}
	for line := range bytes.Lines(rest) {
		var c Change
		if err == nil {
			err = json.Unmarshal(line, &c)
		}
		if err == nil && !fs.ValidPath(c.Path) {
			err = fmt.Errorf("%q is no path", c.Path)
		}
		r.Changes[c.Path] = c
	}
	if err != nil {
		return Result{}, fmt.Errorf("kept changes %.12s: %w", sum, err)
	}
	return r, nil
}
