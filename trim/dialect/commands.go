package dialect

import "strings"

// The commands whose effects are known. [Action.Changes] and [Action.MayShowFiles]
// look here.

// lookers only look, unless an option says otherwise.
var lookers = set(`
	cd ls cat head tail grep egrep fgrep rg ag find wc sed awk nl less more file stat tree which type echo printf pwd du df
	sort uniq cut tr column jq diff cmp test [ true false basename dirname realpath readlink strings xxd od ps date`)

// plainCommands print names, figures and what they are told, whatever their
// arguments are. They count under these very names.
var plainCommands = set(`
	cd pwd pushd popd ls tree mkdir rmdir rm mv cp ln touch chmod chown install rsync tee
	echo printf true false : test [ [[ sleep wait exit return export unset set shopt ulimit break continue shift local
	kill pkill pgrep ps lsof ss netstat df du free uptime date uname whoami id hostname nproc
	which type wc stat file md5sum sha1sum sha256sum basename dirname realpath readlink seq tput clear reset
	systemctl service ping apt apt-get apt-cache dpkg brew dnf yum apk zip`)

// quoters print files as they are, beside the sieves.
var quoters = set(`bat batcat diff xxd od paste comm join strings zcat patch colordiff delta eval gofmt goimports prettier Get-Content gc`)

// interpreters run a program. One that is written on the command line may print files.
var interpreters = set(`python python2 python3 node deno perl ruby php osascript`)

// builders build, test, check and install: they print what they did, and of
// files what is wrong there. They count in whichever directory they are.
var builders = set(`
	make gmake cmake ctest ninja meson bazel gcc g++ clang clang++ cc c++ rustc javac tsc vue-tsc
	mvn mvnw gradle gradlew ant sbt dotnet xcodebuild
	pytest py.test unittest tox nox jest vitest mocha ava karma cypress playwright phpunit rspec ginkgo gotestsum
	golangci-lint staticcheck eslint ruff flake8 pylint mypy pyright black isort stylelint biome oxlint
	webpack vite turbo nx lerna next rebar3 pip pip3 conda rustup gem composer venv compileall alembic`)

// subcommands are what some commands may be told to do. What does not stand
// here may print files, or run what does.
var subcommands = map[string]string{
	"git": `status log commit add push pull fetch checkout switch branch merge rebase reset clone init remote tag
		rev-parse rev-list ls-files ls-remote ls-tree stash clean worktree submodule mv rm cherry-pick revert restore
		shortlog describe reflog merge-base symbolic-ref count-objects gc check-ignore show diff`,
	"gh":     "pr issue run auth release workflow",
	"go":     "build test vet mod get install list version env clean fmt work generate",
	"cargo":  "build test check clippy fmt add update doc bench install nextest clean fetch",
	"npm":    "install i ci run run-script test t ls list audit outdated start uninstall update link prune version init",
	"yarn":   "install add remove run test build lint start typecheck upgrade",
	"pnpm":   "install i add remove run test build lint start typecheck update ls list",
	"bun":    "install i add remove test build update",
	"uv":     "pip sync add remove lock venv",
	"poetry": "install add remove lock update build check",
	"pipenv": "install lock sync", "pdm": "install add lock sync", "bundle": "install update add",
	"mix": "test compile deps.get", "swift": "build test", "stack": "build test", "cabal": "build test",
	"docker": "build ps images pull push stop rm rmi start restart network volume info version up down",
}

// set returns the words of s.
func set(s string) map[string]bool {
	out := make(map[string]bool)
	for w := range strings.FieldsSeq(s) {
		out[w] = true
	}
	return out
}
