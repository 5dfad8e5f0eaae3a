package bench

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
)

// Index has what an index.json says of session files, in the same or the parent directory.
type Index struct {
	open func(name string) (*os.File, error)
	read map[string]map[string]About // by directory and path
}

// NewIndex returns an index that opens files with open.
func NewIndex(open func(name string) (*os.File, error)) *Index {
	return &Index{open, make(map[string]map[string]About)}
}

// Of returns what is said of a session file; the zero value if nothing is.
func (x *Index) Of(file string) About {
	dir := filepath.Dir(file)
	for range 2 {
		if x.read[dir] == nil {
			x.read[dir] = x.readIndex(dir)
		}
		if about, ok := x.read[dir][file]; ok {
			return about
		}
		dir = filepath.Dir(dir)
	}
	return About{}
}

// readIndex reads the index of a directory: a list of objects with a file's path, stratum and repository. Another format counts as
// no index.
func (x *Index) readIndex(dir string) map[string]About {
	out := make(map[string]About)
	f, err := x.open(filepath.Join(dir, "index.json"))
	if err != nil {
		return out
	}
	defer f.Close()
	var list []struct {
		File, Stratum string
		Repository    string `json:"source_repo"`
	}
	if json.NewDecoder(io.LimitReader(f, 64<<20)).Decode(&list) != nil {
		return out
	}
	for _, e := range list {
		if path := filepath.Join(dir, filepath.FromSlash(e.File)); out[path] == (About{}) {
			out[path] = About{Stratum: e.Stratum, Repository: e.Repository}
		}
	}
	return out
}
