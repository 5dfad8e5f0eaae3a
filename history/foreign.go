package history

import (
	"path"
	"slices"
	"strings"

	"github.com/stet-dev/stet/dialect"
)

// dependencies are directories of what others wrote: agents read there, and
// edit elsewhere.
var dependencies = []string{
	"/node_modules/", "/vendor/", "/site-packages/", "/dist-packages/", "/.venv/", "/pkg/mod/", "/.cargo/", "/.rustup/",
	"/.gradle/", "/.m2/", "/.npm/", "/.cache/", "/plugins/cache/", "/usr/include/", "/usr/lib/", "/usr/share/",
}

// soon is after how many turns reads of dependencies may leave.
const soon = 10

// workspace is how many elements of an absolute path name a workspace:
// what is worked on in /home/me/lib/src makes /home/me/lib one.
const workspace = 3

// foreign reports whether reads of a file may leave under adaptive, since no
// edit will be made from them: it is a dependency that has not been touched for
// some turns, or lies outside the workspace and has not been touched for long,
// and nothing says that it is worked on too (see [places]). Where the workspace
// is not known, no file is foreign.
func (s *survey) foreign(key string) bool {
	root, idle := s.f.keys.root, s.f.engine.config.Idle
	if root == "" || idle < 0 || s.f.places.hold(root, key) {
		return false
	}
	if dir, _ := dependency(root, key); dir != "" {
		return s.f.turns-s.touched[key] >= min(soon, idle)
	}
	return (absolute(key) || strings.HasPrefix(key, "../") || strings.HasPrefix(key, "~")) && s.idle(key, 1)
}

// dependency returns the directory of dependencies that a file lies in, and of
// this one the file's package; "" where there is none. What leads to the
// workspace itself says nothing.
func dependency(root, key string) (dir, pkg string) {
	from := 0
	if absolute(key) {
		for n := min(len(root), len(key)); from < n && root[from] == key[from]; {
			from++
		}
		from = max(0, strings.LastIndexByte(key[:from], '/'))
	}
	rest := key[from:] + "/"
	if !strings.HasPrefix(rest, "/") {
		rest, from = "/"+rest, from-1
	}
	at := -1
	for _, d := range dependencies {
		if i := strings.Index(rest, d); i >= 0 && (at < 0 || i+len(d) < at) {
			at = i + len(d)
		}
	}
	if at < 0 {
		return "", ""
	}
	end := min(from+at-1, len(key))
	dir, pkg = key[:end], key
	if i := strings.IndexByte(key[min(end+1, len(key)):], '/'); i >= 0 {
		pkg = key[:end+1+i]
	}
	return dir, pkg
}

// places are files and directories that the system text named, that the agent
// wrote to, or in which it ran what may change something, and the files that a
// person named, by their keys.
type places map[string]bool

// add adds a file or a directory, but for one that holds the workspace.
func (p places) add(root, key string) {
	if key == "" || key == "." || absolute(key) && (strings.Count(key, "/") < 2 || strings.HasPrefix(root, key+"/")) {
		return
	}
	p[key] = true
	dir, pkg := dependency(root, key)
	if above := path.Dir(key); extended(key) && len(above) > len(dir) {
		p.add(root, above) // the directory of a file, as it seems
	}
	if pkg != "" {
		p[pkg] = true
	} else if parts := strings.SplitN(key, "/", workspace+2); absolute(key) && len(parts) > workspace+1 {
		p[strings.Join(parts[:workspace+1], "/")] = true
	}
}

// extended reports whether a path has an extension, as files mostly do.
func extended(name string) bool {
	return strings.Contains(strings.TrimLeft(path.Base(name), "."), ".")
}

// hold reports whether a file is one of the places, or below one. A place that
// holds dependencies beside other things says nothing of these.
func (p places) hold(root, key string) bool {
	dir, _ := dependency(root, key)
	for k := key; len(k) >= len(dir) && k != "." && k != "/"; k = path.Dir(k) {
		if p[k] {
			return true
		}
	}
	return false
}

// visit notes what a text names. What it names becomes places with settle, when
// the workspace is known.
func (f *State) visit(text string) {
	if !f.engine.admits() {
		return
	}
	for word := range dialect.Paths(text) {
		f.named = append(f.named, strings.Clone(word))
	}
}

// hear notes the files that a person's text names: they are worked on, it may
// be, and they alone. Who names a directory mostly says where to look.
func (f *State) hear(text string) {
	if !f.engine.admits() {
		return
	}
	for word := range dialect.Paths(text) {
		word = strings.TrimPrefix(word, "@")
		dir, name := path.Split(word)
		name, _, _ = strings.Cut(name, ":") // a line's number
		if extended(name) {
			f.heard = append(f.heard, dir+name)
		}
	}
}

// temporary are directories that commands leave their output in.
var temporary = []string{"/tmp/", "/private/tmp/", "/var/folders/", "/dev/"}

// ran notes what a command names that may change something.
func (f *State) ran(text string) {
	if !f.engine.admits() {
		return
	}
	for word := range dialect.Paths(text) {
		if !slices.ContainsFunc(temporary, func(dir string) bool { return strings.HasPrefix(word, dir) }) {
			f.named = append(f.named, strings.Clone(word))
		}
	}
}

// settle makes places of what was noted.
func (f *State) settle() {
	slices.Sort(f.named)
	for _, word := range slices.Compact(f.named) {
		f.places.add(f.keys.root, f.keys.normalise(word))
	}
	for _, word := range f.heard {
		f.places[f.keys.normalise(word)] = true
	}
	f.named, f.heard = nil, nil
}
