package policy

import (
	"slices"
	"sync"

	"github.com/stet-dev/stet/tool"
)

// caution is a reason to ask a person that no rule and no grant removes.
type caution struct {
	note tool.Note
	rule string
	why  string // for the model, if the call is refused

	deny    bool // refused even if a person could be asked: set by caution
	flagged bool // unattended, it is only recorded
}

// ForSecret is Decision.Rule where the reason is that the file may be a secret.
const ForSecret = "secret"

// cautions are checked in this order.
var cautions = []caution{
	{note: tool.Secret, rule: ForSecret, why: "the file may hold keys or passwords: a person must confirm each reading of it, but there is no person to ask"},
	{note: tool.Control, rule: "control file", why: "this file makes something run, or says what may: a person must confirm each write to it, but there is no person to ask"},
	{note: tool.Executable, rule: "executable", why: "the file is executable: a person must confirm each write to it, but there is no person to ask"},
	{note: tool.HardLink, rule: "hard link", why: "the file has other names, maybe outside the workspace: a person must confirm each write to it, but there is no person to ask"},
	{note: tool.ReadOnly, rule: "read-only", why: "the file's mode forbids writing: a person must confirm the write, but there is no person to ask"},
	{note: tool.Build, rule: "build file", why: "building or installing runs what this file says: a person must confirm each write to it, but there is no person to ask", flagged: true},
	{note: tool.Instructions, rule: "agent instructions", why: "agents take this file for instructions: a person must confirm each write to it, but there is no person to ask", flagged: true},
	{note: tool.Unread, rule: "unread", why: "the file is there and was never read in this session: read it first, then write"},
	{note: tool.PartRead, rule: "unread", why: "only a part of the file was read in this session: read all of it first, then write; or use edit_file"},
	{note: tool.Stale, rule: "stale", why: "the file changed since you read it: read it again, then write"},
	{note: tool.Hidden, rule: "hidden characters", why: "the text or the name has characters that are not seen: a person must confirm it, but there is no person to ask", flagged: true},
}

// caution returns the first caution that applies to the request, because of its notes or the name of its file.
func (p *Policy) caution(r Request) (caution, bool) {
	var notes []tool.Note
	if r.Write {
		notes = slices.Concat(r.Notes, NotesOf(r.Path))
		notes = slices.DeleteFunc(notes, func(n tool.Note) bool { return n == tool.Secret }) // of the file, whatever is shown of it
	}
	if effectOf(r)&Shows != 0 && !outside(r) && Secret(r.Path) {
		notes = append(notes, tool.Secret)
	}
	for _, c := range cautions {
		if !slices.Contains(notes, c.note) || c.flagged && p.Unattended {
			continue
		}
		does := Ask
		switch c.note {
		case tool.Unread, tool.PartRead, tool.Stale:
			does = p.Unread
		case tool.Secret:
			does = p.Secrets
		}
		if does == Allow {
			continue
		}
		if c.deny = does == Deny; c.deny && c.note == tool.Secret {
			c.why = "the file may hold keys or passwords, which no agent is shown here"
		}
		return c, true
	}
	return caution{}, false
}

// sensitive lists files that people change often, and whose content is run or obeyed although no person runs them by name. A person
// is asked about each write, even if there is a grant.
//
// A file is in the table if an ordinary act of a person runs or obeys it: to build, to install, to open the directory in an editor,
// to start an agent. Sources and tests are not in the table: they run too, but people look at them. Files that mostly declare
// things are not in it either (pyproject.toml, Cargo.toml, go.mod, lock files, settings of linters): with too many questions,
// people approve without reading. Files that are seldom changed and always run something are control files: see workspace.Control.
var sensitive = []struct {
	note     tool.Note
	patterns []string
}{
	// Make and its like: each rule is a command.
	{tool.Build, []string{
		"{,GNU,BSD}Makefile", "Makefile.{am,in,inc,PL,toml}", "*.mk", "{,.}justfile", "Taskfile{,.dist}.{yml,yaml}", "{Rake,Thor,Guard,Brew,Cap,Danger,Fast,Snake}file", "*.rake",
		"{gulp,Grunt}file.{js,cjs,mjs,ts}", "{fabfile,dodo}.py", "wscript", "SConstruct", "SConscript", "Earthfile", "Tiltfile", "Procfile", "Vagrantfile", "magefile.go",
		"BUILD{,.bazel}", "WORKSPACE{,.bazel}", "MODULE.bazel", "*.bzl", "BUCK",
	}},
	// Packages: installing one runs its scripts.
	{tool.Build, []string{"package.json", "deno.{json,jsonc}", "composer.json", "setup.py", "Gemfile", "*.{gem,pod}spec", "Podfile", "Build.PL", "*.pth", "binding.gyp"}},
	// Build tools: editors load these as soon as the directory is opened.
	{tool.Build, []string{
		"build.rs", "{build,settings,init}.gradle{,.kts}", "pom.xml", "build.xml", "*.sbt", "build.{sc,mill,zig}", "Setup.hs", "CMakeLists.txt", "*.cmake", "meson.build",
		"configure{,.ac}", "*.{csproj,fsproj,vbproj,vcxproj,proj,targets,props}", "Package.swift", "mix.exs",
	}},
	// Test runners, bundlers, frameworks and linters: they run these before anything else, and editors run the linters. Each tool for
	// JavaScript takes its configuration from a file with one of the first three forms: see ownConfig.
	{tool.Build, []string{
		"*.config.{js,cjs,mjs,ts,cts,mts}", "*.conf.{js,cjs,mjs,ts}", ".*rc.{js,cjs,mjs,ts,cts,mts}", "{nx,turbo,angular,nodemon,cdk}.json",
		"gatsby-{config,node,browser,ssr}.{js,mjs,ts,tsx}", "config-overrides.js", "{knex,plop}file.{js,cjs,mjs,ts}", ".eleventy.{js,cjs,mjs}", ".dependency-cruiser.{js,cjs,mjs}",
		"vitest.workspace.{js,mjs,ts,json}", ".{lintstaged,husky,release}rc{,.json,.yml,.yaml}", "**/.storybook/**", "**/.{vitepress,vuepress}/config{,.*}",
		"conftest.py", "noxfile.py", "tox.ini", "{,.}pytest.{ini,toml}", "setup.cfg", "{,.}mypy.ini", ".flake8", ".coveragerc", "hatch_build.py",
		"phpunit.xml{,.dist}", "phpstan.neon{,.dist}", ".php-cs-fixer{,.dist}.php", "rector.php", ".rubocop.yml", ".{credo,formatter}.exs", "rebar.config{,.script}",
		"gradle.properties", ".goreleaser.{yml,yaml}", "dub.{json,sdl}", "{premake5,xmake}.lua", "config.nims", "dune",
	}},
	// Deployment: the tool of a cloud runs the commands in these.
	{tool.Build, []string{"{netlify,fly,wrangler}.toml", "wrangler.{json,jsonc}", "{vercel,firebase}.json", "serverless.{yml,yaml,js,ts}", "skaffold.yaml"}},
	// Containers: building or starting one runs these, often as root.
	{tool.Build, []string{"{Docker,Container}file{,.*}", "*.{dockerfile,containerfile}", "{docker-,}compose{,.*}.{yml,yaml}", "{flake,shell,default}.nix"}},
	// Instructions: agents read these before the person says anything.
	{tool.Instructions, []string{
		"AGENT{,S}{,.*}.md", "{CLAUDE,GEMINI,QWEN}{,.*}.md", "{WARP,CRUSH,COPILOT,CONVENTIONS}.md", "SKILL.md", "{.cursor,.windsurf,.cline,.roo}rules{,-*}", ".rules", ".goosehints",
		"**/{.cursor,.windsurf,.cline,.roo}rules/**", "**/.github/copilot-instructions.md", "**/.github/{instructions,prompts,agents,chatmodes,hooks}/**",
	}},
}

// ownConfig are names that have the form of a tool's configuration, and are sources of the program.
var ownConfig = []string{"{app,auth,site,env,theme,routes,i18n,api,db}.config.*"}

type sensitiveNames struct {
	note tool.Note
	*names
}

// compiledSensitive is the compiled table.
var compiledSensitive = sync.OnceValue(func() []sensitiveNames {
	var out []sensitiveNames
	for _, g := range sensitive {
		out = append(out, sensitiveNames{g.note, compileNames(g.patterns)})
	}
	return out
})

var compiledOwnConfig = sync.OnceValue(func() *names { return compileNames(ownConfig) })

// NotesOf returns the notes that the name of a written file needs: Build or Instructions. The path is relative to the workspace,
// with links resolved.
func NotesOf(path string) []tool.Note {
	var notes []tool.Note
	for _, s := range compiledSensitive() {
		if !slices.Contains(notes, s.note) && s.has(path) && !compiledOwnConfig().has(path) {
			notes = append(notes, s.note)
		}
	}
	return notes
}
