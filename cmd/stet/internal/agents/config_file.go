package agents

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/stet-dev/stet/internal/invisible"
	"github.com/stet-dev/stet/internal/jsonc"
)

// configFile is the text of an agent's configuration.
type configFile struct {
	name    string
	toml    bool
	existed bool
	came    []byte // the file's bytes, with a byte order mark
	mark    []byte // a byte-order mark, or empty
	text    []byte
}

func readConfig(name string, isTOML bool) (*configFile, error) {
	came, err := os.ReadFile(name)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	f := &configFile{name: name, toml: isTOML, existed: err == nil, came: came}
	if to, err := os.Readlink(name); err == nil && !f.existed {
		return nil, fmt.Errorf("%s is a link to %q, which is not there: make that file, or remove the link; nothing was written", name, to)
	}
	f.text = invisible.SkipMark(came)
	f.mark = came[:len(came)-len(f.text)]
	return f, nil
}

func (f *configFile) write() (kept string, err error) {
	return replaceFile(f.name, f.came, slices.Concat(f.mark, f.text), f.existed, false)
}

// emptyWith reports whether a file would configure nothing with this text, and can be removed: a link stays, and comments are something.
func (f *configFile) emptyWith(text []byte) bool {
	info, err := os.Lstat(f.name)
	return err == nil && info.Mode().IsRegular() && slices.Contains([]string{"", "{}"}, strings.Join(strings.Fields(string(text)), ""))
}

// writeRest writes a file from which something was taken out. One with nothing left is removed.
func (f *configFile) writeRest() (kept string, err error) {
	if f.emptyWith(f.text) {
		return "", os.Remove(f.name)
	}
	return f.write()
}

// lookup returns the text at a path, "true" or "false" for a JSON value of that kind. Any other value that is not a string is an error.
func (f *configFile) lookup(path []string) (string, bool, error) {
	if f.toml {
		return lookupTOML(f.text, path)
	}
	v, ok, err := jsonc.Lookup(f.text, path)
	s, is := v.(string)
	if b, isBool := v.(bool); isBool {
		s, is = strconv.FormatBool(b), true
	}
	if err == nil && ok && !is {
		err = fmt.Errorf("%s is not a string", strings.Join(path, "."))
	}
	return s, ok, err
}

// missing returns how many of the objects above a value do not exist.
func (f *configFile) missing(path []string) int {
	for n := len(path) - 1; n > 0 && !f.toml; n-- {
		if _, ok, _ := jsonc.Lookup(f.text, path[:n]); ok {
			return len(path) - 1 - n
		}
	}
	if f.toml {
		return 0
	}
	return len(path) - 1
}

// set sets a value: a string, or a bool in JSON.
func (f *configFile) set(path []string, value any, there bool) (err error) {
	last := len(path) - 1
	switch {
	case f.toml:
		f.text, err = setTOML(f.text, path, value.(string))
	case there:
		f.text, err = jsonc.Replace(f.text, path, value)
	default:
		f.text, err = jsonc.Add(f.text, path[:last], map[string]any{path[last]: value})
	}
	return err
}

// remove removes a value, and the objects above it that were made for it, if they are empty.
func (f *configFile) remove(path []string, made int) (err error) {
	if f.toml {
		f.text, err = removeTOML(f.text, path)
		return err
	}
	f.text, err = jsonc.Remove(f.text, path)
	for n := len(path) - 1; err == nil && made > 0; n, made = n-1, made-1 {
		v, _, _ := jsonc.Lookup(f.text, path[:n])
		if inside, is := v.(map[string]any); !is || len(inside) > 0 {
			break
		}
		f.text, err = jsonc.Remove(f.text, path[:n])
	}
	return err
}
