package snapshot

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"
)

// Node is what is at a path. It is a file, a directory, a symbolic link, or something special such as a pipe.
type Node struct {
	Mode fs.FileMode `json:"mode"`           // type and permissions
	Size int64       `json:"size,omitempty"` // bytes of a file
	Sum  string      `json:"sum,omitempty"`  // SHA-256 of a file's content in hex, which the Store has; "": it is not kept
	Link string      `json:"link,omitempty"` // where a symbolic link leads

	// Same is equal in all names of one file that has several.
	Same string `json:"same,omitempty"`

	// Twin is another name of the file that the command has left: the path is made a name of it again.
	Twin string `json:"twin,omitempty"`

	// Stamp identifies a file whose content is not kept: it is equal as long as nobody writes to the file.
	Stamp string `json:"stamp,omitempty"`

	now  string // the stamp of a file that was just looked at
	blob string // git's name of the content, until it is copied into the Store
}

// Equal reports whether both are the same: type, permissions, content and link. Where a content is not kept, the stamps decide.
func (n *Node) Equal(o *Node) bool {
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

// rawChange is a Change in JSON if a name or the target of a link is not valid UTF-8, which JSON cannot have: the texts are bytes in base64.
type rawChange struct {
	Raw    []byte    `json:"raw_path,omitempty"`
	Links  [2][]byte `json:"raw_links,omitzero"` // before, after
	Before *Node     `json:"before,omitempty"`
	After  *Node     `json:"after,omitempty"`
}

// MarshalJSON keeps the bytes of names.
func (c Change) MarshalJSON() ([]byte, error) {
	type plain Change
	nodes, valid := [2]*Node{c.Before, c.After}, utf8.ValidString(c.Path)
	for _, n := range nodes {
		valid = valid && (n == nil || utf8.ValidString(n.Link))
	}
	if valid {
		return json.Marshal(plain(c))
	}
	raw := rawChange{Raw: []byte(c.Path)}
	for i, n := range nodes {
		if n != nil {
			n2 := *n
			raw.Links[i], n2.Link, nodes[i] = []byte(n.Link), "", &n2
		}
	}
	raw.Before, raw.After = nodes[0], nodes[1]
	return json.Marshal(raw)
}

// UnmarshalJSON reads what MarshalJSON has written.
func (c *Change) UnmarshalJSON(text []byte) error {
	type plain Change
	err := json.Unmarshal(text, (*plain)(c))
	if err != nil || c.Path != "" {
		return err
	}
	var raw rawChange
	if err := json.Unmarshal(text, &raw); err != nil {
		return err
	}
	c.Path = string(raw.Raw)
	for i, n := range []*Node{c.Before, c.After} {
		if n != nil {
			n.Link = string(raw.Links[i])
		}
	}
	return nil
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
		if err == nil && !validPath(c.Path) {
			err = fmt.Errorf("%q is no path", c.Path)
		}
		r.Changes[c.Path] = c
	}
	if err != nil {
		return Result{}, fmt.Errorf("kept changes %.12s: %w", sum, err)
	}
	return r, nil
}
