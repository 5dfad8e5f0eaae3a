package workspace

import (
	"path"
	"regexp"
	"slices"
	"strings"
)

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
