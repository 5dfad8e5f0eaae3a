package workspace

import (
	"path"
	"slices"
	"strings"
)

// controlDirs are directories below which everything is a control file. A name
// with a slash is found at the end of a directory's path.
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

// controlFiles are control files by name, wherever they lie.
var controlFiles = []string{
	"head", // makes a directory a bare repository, whose config git obeys
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
	"jenkinsfile", ".drone.jsonnet", ".drone.star", "circle.yml", ".devcontainer.json",
}

// controlStems are control files in any format, with
// more between the stem and the ending too: mise.toml, mise.local.toml.
var (
	controlStems = []string{
		".gitlab-ci", ".travis", "azure-pipelines", ".azure-pipelines", ".drone", "bitbucket-pipelines", ".woodpecker", "appveyor",
		".appveyor", ".cirrus", ".build", "buildspec", "cloudbuild", "codefresh", ".zuul", "zuul", ".prow",
		".pre-commit-config", ".pre-commit-hooks", "lefthook", ".lefthook", "lefthook-local", ".lefthook-local", ".overcommit",
		".simple-git-hooks", "simple-git-hooks", "mise", ".mise", ".yarnrc",
	}
	formats = []string{".yml", ".yaml", ".toml", ".json", ".jsonc"}
)

// controlEnds are endings of control files' names.
var controlEnds = []string{".code-workspace", ".desktop", ".sublime-project", ".sublime-workspace", ".sublime-build"}

// hasStem reports whether a folded name is a stem of controlStems in one of the
// formats.
func hasStem(base string) bool {
	if !slices.Contains(formats, path.Ext(base)) {
		return false
	}
	return slices.ContainsFunc(controlStems, func(stem string) bool { return strings.HasPrefix(base, stem+".") })
}
