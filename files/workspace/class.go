package workspace

import (
	"errors"
	"io/fs"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// Class says how careful a write to a file must be.
type Class int

// The classes, from least to most caution.
const (
	Ordinary Class = iota

	// Control files make programs run, or say which may run: editor settings, shell start files, continuous integration. A file
	// that does not exist is one too if it would be in a new directory whose name begins with a dot, or is an rc file. A person is asked
	// before each write: Write refuses it unless WriteMode.Agreed has ControlFile.
	Control

	// Repository is everything in .git. It is never written to.
	Repository

	// Own is stet's own state. It is neither written nor read.
	Own
)

func (c Class) String() string {
	switch c {
	case Control:
		return "control file"
	case Repository:
		return "repository"
	case Own:
		return "stet's own"
	}
	return "ordinary"
}

// atRoot are names below the root whose files are also recognised by inode, so that a second name of such a file is recognised.
var atRoot = []string{
	".git", ".git/config", ".git/hooks", ".git/info", ".vscode", ".idea", ".zed", ".devcontainer",
	".github/workflows", ".circleci", ".husky", ".mvn", ".envrc", ".mcp.json", ".gitlab-ci.yml", ".gitmodules", ".gitattributes",
}

// classes knows files by name. It does not change after it is made.
type classes struct {
	files map[string]bool
	ends  []string // "/dir/name"
	dirs  []string // "/dir/" or "/dir/sub/"
	state [][]string
}

func newClasses(more, state []string) classes {
	c := classes{files: map[string]bool{}}
	add := func(name string) {
		name = fold(name)
		switch {
		case strings.HasSuffix(name, "/"):
			c.dirs = append(c.dirs, "/"+strings.Trim(name, "/")+"/")
		case strings.Contains(name, "/"):
			c.ends = append(c.ends, "/"+strings.Trim(name, "/"))
		default:
			c.files[name] = true
		}
	}
	for _, d := range controlDirs {
		add(d + "/")
	}
	for _, f := range controlFiles {
		add(f)
	}
	for _, m := range more {
		add(m)
	}
	for _, s := range state {
		c.state = append(c.state, strings.Split(fold(s), "/"))
	}
	return c
}

// fold makes paths equal that some file system treats as the same. It removes letter case, Unicode composition, characters that some file
// systems ignore, and dots, spaces and streams at the end of names.
func fold(p string) string {
	parts := strings.Split(cases.Fold().String(norm.NFC.String(p)), "/")
	for i, c := range parts {
		c = strings.Map(dropIgnored, c)
		if at := strings.IndexByte(c, ':'); at > 0 {
			c = c[:at]
		}
		if t := strings.TrimRight(c, ". "); t != "" {
			c = t
		}
		if strings.HasPrefix(c, "git~") {
			c = ".git"
		}
		parts[i] = c
	}
	return norm.NFC.String(strings.Join(parts, "/"))
}

func dropIgnored(c rune) rune {
	switch {
	case c >= 0x200c && c <= 0x200f, c >= 0x202a && c <= 0x202e, c >= 0x2060 && c <= 0x206f, c == 0xfeff, c == 0xad:
		return -1
	}
	return c
}

// byName returns the class of a canonical path by its name only.
func (c *classes) byName(canonical string) Class {
	p := fold(canonical)
	if c.isStateFolded(p) {
		return Own
	}
	found := Ordinary
	for part := range strings.SplitSeq(p, "/") {
		if part == ".git" {
			return Repository
		}
		if strings.HasPrefix(part, ".stet-") && strings.HasSuffix(part, ".tmp") {
			return Own
		}
	}
	under := "/" + p + "/" // a directory itself counts as below itself
	for _, d := range c.dirs {
		if strings.Contains(under, d) {
			found = Control
		}
	}
	base := path.Base(p)
	if c.files[base] || hasStem(base) {
		found = Control
	}
	for _, e := range controlEnds {
		if strings.HasSuffix(base, e) {
			found = Control
		}
	}
	for _, e := range c.ends {
		if strings.HasSuffix("/"+p, e) {
			found = Control
		}
	}
	return found
}

var byDefault = sync.OnceValue(func() *classes { c := newClasses(nil, nil); return &c })

// IsControl reports whether the name of a path alone says that it is a control file or in a repository's own directory, or may be one: it or a
// directory above it is hidden.
func IsControl(path string) bool {
	return byDefault().byName(path) != Ordinary || strings.HasPrefix(path, ".") || strings.Contains(path, "/.")
}

// isState reports whether the path is in stet's state directory.
func (c *classes) isState(canonical string) bool {
	return len(c.state) > 0 && c.isStateFolded(fold(canonical))
}

func (c *classes) isStateFolded(p string) bool {
	parts := strings.Split(p, "/")
	for _, s := range c.state {
		if len(s) == 1 && s[0] == "." {
			return true
		}
		if len(parts) < len(s) {
			continue
		}
		same := true
		for i := range s {
			same = same && parts[i] == s[i]
		}
		if same {
			return true
		}
	}
	return false
}

// fileID identifies a file.
type fileID struct{ dev, ino uint64 }

func idOf(st atomicfile.Stat) fileID { return fileID{st.Dev, st.Ino} }

// classOf returns the class of a place, by its canonical name and by the existing file and the directories above it.
func (r *Root) classOf(pl *place, leaf *atomicfile.Stat) Class {
	found := r.class(pl.path, pl.stack, leaf == nil)
	if found >= Repository {
		return found
	}
	known := r.known()
	look := func(st atomicfile.Stat) {
		if st.Ino != 0 {
			found = max(found, known[idOf(st)])
		}
	}
	for _, st := range pl.above {
		look(st)
	}
	if leaf != nil {
		look(*leaf)
	}
	return found
}

// known returns the existing files named by atRoot, and the state directory.
func (r *Root) known() map[fileID]Class {
	m := map[fileID]Class{}
	for _, name := range atRoot {
		st, err := r.statOwn(name)
		if err == nil && st.Ino != 0 {
			m[idOf(st)] = r.rules.byName(name)
		}
		if err == nil && name == ".git" && st.Mode.IsRegular() {
			if st, ok := r.gitDir(); ok {
				m[idOf(st)] = Repository
			}
		}
	}
	if st, err := r.state.stat(); err == nil && st.Ino != 0 {
		m[idOf(st)] = Own
	}
	return m
}

// gitDir returns the repository that a .git file points to, if it is inside the tree.
func (r *Root) gitDir() (atomicfile.Stat, bool) {
	f, err := r.dir.Open(".git")
	if err != nil {
		return atomicfile.Stat{}, false
	}
	defer f.Close()
	if st, err := atomicfile.StatFile(f); err != nil || !st.Mode.IsRegular() {
		return atomicfile.Stat{}, false // it became a pipe in the meantime, and reading a pipe would block
	}
	buf := make([]byte, 4200)
	n, _ := f.Read(buf)
	to, ok := strings.CutPrefix(string(buf[:n]), "gitdir:")
	if !ok {
		return atomicfile.Stat{}, false
	}
	to = strings.TrimSpace(to)
	if path.IsAbs(to) {
		if to, ok = r.inside(to); !ok {
			return atomicfile.Stat{}, false
		}
	}
	pl, err := r.resolve(to, resolving{dotdot: true})
	if err != nil {
		return atomicfile.Stat{}, false
	}
	defer pl.close()
	st, err := pl.dir.Stat(pl.name)
	return st, err == nil
}

// nextToHead are names that git obeys in a directory with a HEAD file. They configure programs that git runs (hooks,
// filters, aliases), or they name another directory with such files.
var nextToHead = []string{"config", "config.worktree", "commondir", "gitdir", "hooks", "info"}

// underHead reports whether a path leads through one of nextToHead in a directory that has a HEAD file. Such a directory is
// a bare repository, or the directory that a work tree's .git file points to. dirs are the root and the existing
// directories on the way.
func underHead(canonical string, dirs []*atomicfile.Dir) bool {
	parts := strings.Split(fold(canonical), "/")
	for i, d := range dirs[:min(len(dirs), len(parts))] {
		if !slices.Contains(nextToHead, parts[i]) {
			continue
		}
		if _, err := d.Stat("HEAD"); !errors.Is(err, fs.ErrNotExist) {
			return true
		}
	}
	return false
}

// class returns the class of a canonical path, by its name and by the directories on the way, which are the root and the existing
// ones. missing says that nothing is at the path.
func (r *Root) class(canonical string, dirs []*atomicfile.Dir, missing bool) Class {
	found := r.rules.byName(canonical)
	if found < Control && (underHead(canonical, dirs) || missing && newSetting(canonical, len(dirs)-1)) {
		found = Control
	}
	return found
}

// controlDirs are directories in which every file is a control file. A name with a slash is compared with the end of a
// directory's path.
var controlDirs = []string{
	".vscode", ".idea", ".run", ".zed", ".cursor", ".fleet", ".nova", ".helix", ".lapce", ".vs", ".devcontainer", ".externaltoolbuilders",
	".vim", ".nvim", ".emacs.d", ".spacemacs.d", ".doom.d",
	".github/workflows", ".github/actions", ".gitea/workflows", ".gitea/actions", ".forgejo/workflows", ".forgejo/actions", ".gitlab/ci",
	".circleci", ".buildkite", ".teamcity", ".woodpecker", ".drone", ".builds", ".semaphore", ".tekton", ".azure-pipelines", ".azuredevops",
	"zuul.d", ".zuul.d",
	".husky", ".githooks", ".git-hooks", ".lefthook", ".lefthook-local", ".hg", ".svn", ".bzr", ".jj", ".sl", ".pijul", "_darcs", ".repo",
	".ssh", ".gnupg", ".aws", ".azure", ".kube", ".docker", ".stet",
	".config/autostart", ".config/systemd", ".config/fish", ".config/git", ".config/environment.d", ".config/mise",
	".local/bin", ".local/share/systemd", ".local/share/dbus-1", "library/launchagents", ".direnv", ".bashrc.d", ".zshrc.d", ".oh-my-zsh",
	".mise", "mise/conf.d", "mise/tasks", "mise-tasks", ".mise-tasks",
	".mvn", ".m2", ".gradle", "gradle/wrapper", ".yarn/releases", ".yarn/plugins", ".yarn/sdks", ".bundle", ".ipython", ".jupyter",
}

// controlFiles are names of control files in any directory.
var controlFiles = []string{
	"head", // makes its directory a bare repository; git obeys the config of one
	".envrc", ".envrc.local", ".mcp.json", "mcp.json", ".stet.toml", "stet.toml",
	".bashrc", ".bash_profile", ".bash_login", ".bash_logout", ".bash_aliases", ".bash_completion", ".profile",
	".zshrc", ".zshenv", ".zprofile", ".zlogin", ".zlogout", ".kshrc", ".mkshrc", ".shrc", ".cshrc", ".tcshrc", ".login", ".logout",
	".bashrc.local", ".zshrc.local", ".zshenv.local", "profile.ps1", "microsoft.powershell_profile.ps1",
	".inputrc", "config.fish", ".xinitrc", ".xsession", ".xsessionrc", ".xprofile", ".pam_environment", ".screenrc", ".curlrc", ".wgetrc",
	".exrc", "_exrc", ".vimrc", "_vimrc", ".gvimrc", "_gvimrc", ".nvimrc", ".nvim.lua", ".lazy.lua", ".lvimrc", ".local.vimrc", ".ideavimrc",
	".emacs", ".emacs.el", ".spacemacs", ".dir-locals.el", ".dir-locals-2.el", ".gdbearlyinit",
	".gitmodules", ".gitconfig", ".gitattributes", ".lfsconfig", ".git-credentials", ".hgrc", ".hgsub", ".arcconfig", ".arclint", ".gclient",
	".npmrc", ".yarnrc", ".pnpmfile.cjs", ".pnpmfile.mjs", "pnpmfile.js", ".pnp.loader.mjs", "bunfig.toml", ".bunfig.toml",
	".pypirc", "pip.conf", ".pydistutils.cfg", ".pdbrc", "sitecustomize.py", "usercustomize.py", ".gemrc", ".irbrc", ".pryrc",
	"rust-toolchain", "rust-toolchain.toml", ".netrc", "_netrc", "ansible.cfg", ".ansible.cfg", ".terraformrc",
	".tool-versions", ".asdfrc", "mise/config.toml", "mise/config.local.toml", ".autoenv", ".autoenv.zsh",
	".rprofile", ".renviron", ".ghci", ".ocamlinit", ".octaverc", ".iex.exs", ".pylintrc", "pylintrc", ".rspec", ".buckconfig",
	".gitpod.yml", "devfile.yaml", ".devfile.yaml", ".replit",
	"jenkinsfile", ".drone.jsonnet", ".drone.star", "circle.yml", ".devcontainer.json",
}

// A file whose name begins with one of controlStems and ends with one of formats is a control file. There may be more
// between the two: mise.toml, mise.local.toml.
var (
	controlStems = []string{
		".gitlab-ci", ".travis", "azure-pipelines", ".azure-pipelines", ".drone", "bitbucket-pipelines", ".woodpecker", "appveyor",
		".appveyor", ".cirrus", ".build", "buildspec", "cloudbuild", "codefresh", ".zuul", "zuul", ".prow",
		".pre-commit-config", ".pre-commit-hooks", "lefthook", ".lefthook", "lefthook-local", ".lefthook-local", ".overcommit",
		".simple-git-hooks", "simple-git-hooks", "mise", ".mise", ".yarnrc",
	}
	formats = []string{".yml", ".yaml", ".toml", ".json", ".jsonc"}
)

// controlEnds are ends of control files' names.
var controlEnds = []string{".code-workspace", ".desktop", ".sublime-project", ".sublime-workspace", ".sublime-build"}

// dataDirs are directories in which programs keep data alone, although their names begin with a dot. What runs something below
// them is in controlDirs.
var dataDirs = []string{".github", ".gitlab", ".gitea", ".forgejo", ".changeset", ".changes", ".well-known", ".reuse"}

// rcFile matches the names that programs choose for their settings: .foorc, _foorc, .foorc.json.
var rcFile = regexp.MustCompile(`^[._].*rc(\.[a-z0-9]+)?$`)

// dataFiles are rc files that hold no more than a version or a list.
var dataFiles = []string{".nvmrc", ".browserslistrc"}

// newSetting reports whether a file that does not exist may be the setting of a program that the lists do not have: it would be in
// a new directory whose name begins with a dot, or its name is that of an rc file. existing is the number of directories that
// exist on the way. A file in a directory that is there already is an ordinary file, whatever that is called.
func newSetting(canonical string, existing int) bool {
	parts := strings.Split(fold(canonical), "/")
	last := len(parts) - 1
	dot := func(dir string) bool {
		return strings.HasPrefix(dir, ".") && dir != "." && !slices.Contains(dataDirs, dir)
	}
	return slices.ContainsFunc(parts[min(existing, last):last], dot) || rcFile.MatchString(parts[last]) && !slices.Contains(dataFiles, parts[last])
}

// hasStem reports whether a folded name has a stem of controlStems and an end of formats.
func hasStem(base string) bool {
	if !slices.Contains(formats, path.Ext(base)) {
		return false
	}
	return slices.ContainsFunc(controlStems, func(stem string) bool { return strings.HasPrefix(base, stem+".") })
}
