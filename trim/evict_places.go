package trim

import (
	"path"
	"slices"
	"strings"

	"github.com/stet-dev/stet/trim/dialect"
)

// dependencies are directories of what others wrote: agents read there, and edit
// elsewhere.
var dependencies = []string{
	"/node_modules/", "/vendor/", "/site-packages/", "/dist-packages/", "/.venv/", "/pkg/mod/", "/.cargo/", "/.rustup/",
	"/.gradle/", "/.m2/", "/.npm/", "/.cache/", "/plugins/cache/", "/usr/include/", "/usr/lib/", "/usr/share/",
}

// dependencyIdle is after how many turns reads of dependencies may leave.
const dependencyIdle = 10

// workspaceDepth is how many elements of an absolute path name a workspace: work in
// /home/me/lib/src makes /home/me/lib one.
const workspaceDepth = 3

// outside reports whether reads of a file may leave under adaptive, since no edit will be
// made from them. The file is a dependency that was not touched for some turns, or lies
// outside the workspace and was not touched for long. And nothing says that the agent
// works on it too (see namedPlaces). Where the workspace is not known, no file is
// outside.
func (s *evictionScan) outside(key string) bool {
	root, idle := s.st.keys.root, s.st.engine.config.Idle
	if root == "" || idle < 0 || s.st.named.hold(root, key) {
		return false
	}
	if dir, _ := dependency(root, key); dir != "" {
		return s.st.turns-s.touched[key] >= min(dependencyIdle, idle)
	}
	return (absolute(key) || strings.HasPrefix(key, "../") || strings.HasPrefix(key, "~")) && s.idle(key, 1)
}

// dependency returns the directory of dependencies that a file lies in, and of this one
// the file's package; "" where there is none. The path of the workspace itself says
// nothing.
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

// namedPlaces are files and directories that the agent may work on: those that the
// system text named, that the agent wrote to or named in a command that may change
// something, and the files that a person named.
type namedPlaces struct {
	words  []string        // paths, not resolved yet: the workspace may not be known
	files  []string        // named by persons, not resolved yet
	edited []string        // written to by the agent, not resolved yet
	places map[string]bool // keys
}

// byPerson notes the files that a person's text names. A person who names a directory
// mostly says where to look.
func (n *namedPlaces) byPerson(text string) {
	for word := range dialect.Paths(text) {
		dir, name := path.Split(strings.TrimPrefix(word, "@"))
		name, _, _ = strings.Cut(name, ":") // a line's number
		if extended(name) {
			n.files = append(n.files, dir+name)
		}
	}
}

// temporary are directories that commands leave their output in.
var temporary = []string{"/tmp/", "/private/tmp/", "/var/folders/", "/dev/"}

// byCommand notes what a command names that may change something.
func (n *namedPlaces) byCommand(text string) {
	for word := range dialect.Paths(text) {
		if !slices.ContainsFunc(temporary, func(dir string) bool { return strings.HasPrefix(word, dir) }) {
			n.words = append(n.words, strings.Clone(word))
		}
	}
}

// byShell notes what a command line may write to below a directory of dependencies. A program that it runs there is only run.
func (n *namedPlaces) byShell(text string) {
	dir := ""
	for command := range strings.FieldsFuncSeq(text, func(r rune) bool { return strings.ContainsRune("\n;&|", r) }) {
		command = strings.TrimSpace(command)
		program, args, _ := strings.Cut(command, " ")
		switch program {
		case "cd":
			dir = args
			continue
		case "cp":
			command = args[strings.LastIndexByte(args, ' ')+1:]
		case "node", "python", "python3", "bash", "sh":
			program = args
		}
		for word := range dialect.Paths(dir + " " + command) {
			inside := slices.ContainsFunc(dependencies, func(d string) bool { return strings.Contains("/"+word+"/", d) })
			if inside && !strings.HasPrefix(strings.TrimLeft(program, `"'`), word) && (&dialect.Action{Op: dialect.Shell, Command: command}).Changes() {
				n.byEdit(strings.Clone(word))
			}
		}
	}
}

// byEdit notes a file that the agent writes to.
func (n *namedPlaces) byEdit(file string) { n.edited = append(n.edited, file) }

// resolve makes places of what was noted.
func (n *namedPlaces) resolve(keys *keys) {
	slices.Sort(n.words)
	for _, word := range slices.Compact(n.words) {
		n.addPlace(keys.root, keys.normalise(word))
	}
	for _, word := range n.files {
		n.places[keys.normalise(word)] = true
	}
	for _, file := range n.edited {
		key := keys.normalise(file)
		n.addPlace(keys.root, key)
		if _, pkg := dependency(keys.root, key); pkg != "" {
			n.places[pkg] = true
		}
	}
	n.words, n.files, n.edited = nil, nil, nil
}

// addPlace adds a file or a directory, except one that holds the workspace. With it it
// adds the directory of a file, and the workspace that it lies in. (An agent works on a package of a dependency if its tools edit files there. Commands name
// a file of it for other reasons.)
func (n *namedPlaces) addPlace(root, key string) {
	if key == "" || key == "." || absolute(key) && (strings.Count(key, "/") < 2 || strings.HasPrefix(root, key+"/")) {
		return
	}
	n.places[key] = true
	dir, _ := dependency(root, key)
	if above := path.Dir(key); extended(key) && len(above) > len(dir) {
		n.addPlace(root, above)
	}
	if parts := strings.SplitN(key, "/", workspaceDepth+2); dir == "" && absolute(key) && len(parts) > workspaceDepth+1 {
		n.places[strings.Join(parts[:workspaceDepth+1], "/")] = true
	}
}

// extended reports whether a path has an extension, as files mostly do.
func extended(name string) bool {
	return strings.Contains(strings.TrimLeft(path.Base(name), "."), ".")
}

// hold reports whether a file is one of the places, or below one. A place that holds
// dependencies beside other things says nothing of the dependencies.
func (n *namedPlaces) hold(root, key string) bool {
	dir, _ := dependency(root, key)
	for k := key; len(k) >= len(dir) && k != "." && k != "/"; k = path.Dir(k) {
		if n.places[k] {
			return true
		}
	}
	return false
}
