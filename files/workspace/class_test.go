package workspace

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// TestControlFilesByName checks that .git is refused and that a control file needs a person's consent. This must be so in
// every spelling that some file system treats as the same. (FILE-13)
func TestControlFilesByName(t *testing.T) {
	c := newClasses([]string{"Special.cfg", "deep/in.ini", ".tool/"}, []string{"var/state"})
	tests := map[string]Class{
		"a.go": Ordinary, "git": Ordinary, "x.git/y": Ordinary, ".gitignore": Ordinary, "vscode/x": Ordinary, "src/workflows/x": Ordinary,
		".git/config": Repository, ".git": Repository, "sub/.git/hooks/x": Repository, ".GIT/config": Repository, ".Git": Repository,
		".git./config": Repository, ".git /config": Repository, "git~1/config": Repository, ".git::$INDEX_ALLOCATION/x": Repository,
		".g\u200cit/config": Repository, "\ufeff.git/x": Repository, ".g\u0131t/x": Ordinary,
		".vscode/settings.json": Control, ".VSCode/x": Control, "sub/.vscode/tasks.json": Control, ".vscode": Control,
		".envrc": Control, "a/.ENVRC": Control, ".mcp.json": Control, ".bashrc": Control, "home/.zshenv": Control, ".profile": Control,
		".github/workflows/ci.yml": Control, ".github/x.md": Ordinary, ".gitlab-ci.yml": Control, "Jenkinsfile": Control, ".circleci/config.yml": Control,
		".husky/pre-commit": Control, "x.code-workspace": Control, ".config/fish/conf.d/x.fish": Control, ".envrc.": Control, ".envrc:stream": Control,
		"special.CFG": Control, "a/deep/in.ini": Control, "in.ini": Ordinary, ".tool/x/y": Control,
		"var/state": Own, "var/state/kept/x": Own, "VAR/State/x": Own, "var/stateful": Ordinary, "a/.stet-0011-1.tmp": Own,
	}
	for p, want := range tests {
		if got := c.byName(p); got != want {
			t.Errorf("%q: got %v, want %v", p, got, want)
		}
	}
}

// A file beside a control file with the same effect is also a control file, in every format that its program reads.
// (FILE-13)
func TestControlFilesBesideOthers(t *testing.T) {
	c := newClasses(nil, nil)
	control := strings.Fields(`
		lefthook.yml lefthook.yaml lefthook.toml lefthook.json .lefthook.yaml lefthook-local.yml .lefthook-local.toml lefthook-local.jsonc
		.lefthook-local/pre-commit/x .git-hooks/pre-commit .pre-commit-config.yml .pre-commit-hooks.yaml .overcommit.yml .simple-git-hooks.json
		mise.toml .mise.toml mise.local.toml .mise.local.toml mise.production.local.toml .mise/config.toml mise/config.toml
		.config/mise/config.toml sub/mise/conf.d/x.toml mise-tasks/build .tool-versions
		.sl/config .hg/hgrc .jj/config.toml .lfsconfig
		.build.yml .builds/test.yml .gitlab-ci.yaml .travis.yaml azure-pipelines.yaml .drone.yaml .drone.star .gitea/actions/x/action.yml circle.yml
		.mvn/extensions.xml .mvn/jvm.config .mvn/maven.config .mvn/wrapper/maven-wrapper.properties gradle/wrapper/gradle-wrapper.properties
		.yarn/releases/yarn-4.cjs .yarn/plugins/x.cjs .yarnrc.yml .yarnrc.yaml .pnpmfile.mjs bunfig.toml
		.Rprofile sub/.Renviron .ghci .ocamlinit .octaverc .iex.exs .pylintrc pylintrc .rspec .buckconfig .gitpod.yml devfile.yaml .replit
		rust-toolchain.toml sitecustomize.py .bundle/config .run/x.run.xml x.sublime-project .helix/languages.toml _vimrc Library/LaunchAgents/x.plist`)
	for _, p := range control {
		if got := c.byName(p); got != Control {
			t.Errorf("%q: got %v", p, got)
		}
	}
	ordinary := strings.Fields(`mise.go lefthook.md src/mise/main.go misery.toml appveyor.go builds/x.yml yarn/releases/x gradle/libs.versions.toml
		.yarn/patches/x.patch pom.xml package.json build.yml circle.json zuul/x.py`)
	for _, p := range ordinary {
		if got := c.byName(p); got != Ordinary {
			t.Errorf("%q: got %v", p, got)
		}
	}
}

// TestNewSettings checks that a person is asked about a file in a new directory whose name begins with a dot, and about a new rc
// file: the lists cannot have all programs. A file in such a directory that is there already is an ordinary one. (FILE-13)
func TestNewSettings(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put(".there/data.json", "{}")
	tr.put(".oldrc", "x")
	for s, want := range map[string]Class{
		".newtool/config.json": Control, "sub/.newtool/a/b.md": Control, ".there/.inner/x": Control, ".NewTool/x": Control, ".foorc": Control, "_foorc": Control,
		".foorc.json": Control, "sub/.foorc.yaml": Control, ".there/.foorc": Control,
		".there/new.json": Ordinary, ".there/sub/new.json": Ordinary, ".there/data.json": Ordinary, ".oldrc": Ordinary, ".editorconfig": Ordinary, ".prettierignore": Ordinary,
		".nvmrc": Ordinary, ".gitignore": Ordinary, ".github/ISSUE_TEMPLATE/bug.md": Ordinary, ".changeset/a.md": Ordinary, ".github/workflows/x.yml": Control,
		"new/src/a.go": Ordinary, "src/arc": Ordinary, "a.rc": Ordinary, ".env.example": Ordinary,
	} {
		info, _ := tr.Inspect(tr.path(s))
		if info.Class != want {
			t.Errorf("%s: %v, want %v", s, info.Class, want)
		}
		if info.Exists() {
			continue
		}
		_, err := tr.write(s, "x", "", WriteMode{CreateDirs: true})
		if asks := errors.Is(err, ErrProtected); asks != (want == Control) || err != nil && !asks {
			t.Errorf("%s: %v", s, err)
		}
		if want == Control {
			tr.mustWrite(s, "x", "", WriteMode{CreateDirs: true, Agreed: ControlFile})
		}
	}
	// What the person agreed to is there now, and ordinary.
	if info, err := tr.Inspect(tr.path(".newtool/more.json")); info.Class != Ordinary {
		t.Errorf("%v, %v", info.Class, err)
	}
}

func TestControlFilesAreGuarded(t *testing.T) {
	tr := newTree(t, Options{})
	for _, f := range []string{".git/config", ".envrc", ".vscode/tasks.json"} {
		tr.put(f, "old")
	}
	was := VersionOf([]byte("old"))
	for _, s := range []string{".git/config", ".GIT/config", ".git/hooks/new"} {
		for _, o := range []WriteMode{{CreateDirs: true}, {CreateDirs: true, Agreed: ControlFile | OtherNames}} {
			v := was
			if s != ".git/config" {
				v = ""
			}
			_, err := tr.write(s, "x", v, o)
			wantErr(t, s, err, ErrProtected)
		}
	}
	if _, err := os.Stat(tr.abs(".GIT")); err == nil && runtime.GOOS == "linux" {
		t.Error("a directory was made on the way")
	}
	if got, err := tr.read(".git/config"); err != nil || got != "old" { // FILE-13: reads allowed
		t.Errorf("read: %q, %v", got, err)
	}
	for _, s := range []string{".envrc", ".vscode/tasks.json"} {
		if info, err := tr.Inspect(tr.path(s)); err != nil || info.Class != Control {
			t.Errorf("%s: %v, %v", s, info.Class, err)
		}
		_, err := tr.write(s, "x", was, WriteMode{})
		wantErr(t, s, err, ErrProtected)
		tr.mustWrite(s, "x", was, WriteMode{Agreed: ControlFile})
	}
	// A file that does not exist yet has a class, too.
	for _, s := range []string{".mcp.json", ".github/workflows/new.yml"} {
		info, err := tr.Inspect(tr.path(s))
		wantErr(t, s, err, ErrNotFound)
		if info.Class != Control || info.Path.String() != s || info.NewDirs != strings.Count(s, "/") || !info.Parent.Writable {
			t.Errorf("%s: %+v", s, info)
		}
	}
}

// TestControlFilesByInode checks that another name of a control file has the same class.
func TestControlFilesByInode(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("files have no identity here")
	}
	tr := newTree(t, Options{})
	tr.put(".git/config", "old")
	tr.put(".git/hooks/pre-commit", "old")
	tr.put(".envrc", "old")
	tr.put("bare/objects/x", "")
	tr.link(".git", "link")
	tr.link(".git/hooks", "hooks")
	tr.link(".envrc", "env")
	for _, l := range [][2]string{{".git/config", "config"}, {".envrc", "rc"}} {
		if err := os.Link(tr.abs(l[0]), tr.abs(l[1])); err != nil {
			t.Fatal(err)
		}
	}
	want := map[string]Class{
		"link/config": Repository, "link/new": Repository, "hooks/pre-commit": Repository, "hooks/new": Repository,
		"config": Repository, "rc": Control, "env": Control, "link/refs/new": Repository,
	}
	for s, class := range want {
		if info, _ := tr.Inspect(tr.path(s)); info.Class != class {
			t.Errorf("%s: got %v, want %v", s, info.Class, class)
		}
		for _, v := range []Version{"", VersionOf([]byte("old"))} {
			_, err := tr.write(s, "x", v, WriteMode{Agreed: OtherNames, CreateDirs: true})
			wantErr(t, s, err, ErrProtected)
		}
	}
}

// The repository of a work tree may be elsewhere in the root.
func TestRepositoryElsewhere(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put(".git", "gitdir: ./store\n")
	tr.put("store/config", "old")
	_, err := tr.write("store/config", "x", VersionOf([]byte("old")), WriteMode{Agreed: ControlFile})
	wantErr(t, "write", err, ErrProtected)
	tr.put(".git", "gitdir: "+tr.dir+"/store\n")
	_, err = tr.write("store/hooks/new", "x", "", WriteMode{Agreed: ControlFile, CreateDirs: true})
	wantErr(t, "write", err, ErrProtected)
}

// TestOwnStateIsRefused checks that stet's state is neither read nor written, even if it is in the tree. (FILE-13)
func TestOwnStateIsRefused(t *testing.T) {
	dir := t.TempDir()
	root, err := Open(dir, Options{State: filepath.Join(dir, "var", "stet")})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	v, err := keep(root, "secret")
	if err != nil {
		t.Fatal(err)
	}
	tr := &tree{Root: root, t: t, dir: dir}
	tr.link("var/stet", "link")
	for _, base := range []string{"var/stet", "link"} {
		s := base + "/kept/" + string(v[:2]) + "/" + string(v[2:])
		_, err = tr.read(s)
		wantErr(t, "read", err, ErrProtected)
		_, err = tr.Page(context.Background(), tr.path(s), PageRequest{})
		wantErr(t, "page", err, ErrProtected)
		_, err = tr.Inspect(tr.path(s))
		wantErr(t, "stat", err, ErrProtected)
		_, err = tr.write(s, "x", v, WriteMode{Agreed: ControlFile})
		wantErr(t, "write", err, ErrProtected)
		_, err = list(tr, tr.path(base), ListOptions{})
		wantErr(t, "list", err, ErrProtected)
	}
	err = tr.Walk(context.Background(), tr.path("."), ListOptions{Ignored: true}, func(e Entry) error {
		if e.Path.String() == "var/stet" {
			t.Error("the walk shows it")
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
}
