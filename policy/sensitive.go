package policy

import (
	"slices"
	"sync"

	"github.com/stet-dev/stet/tool"
)

// sensitive are files that people change often, and that do harm without being
// run by name: a write to one is asked for each time, also where it is granted.
//
// A file is in the table if an ordinary act of a person runs or obeys what it says:
// to build, to install, to open the directory in an editor, to start an agent. Sources
// and tests are left out: they run too, but people look at them. Files that mostly
// declare are left out as well (pyproject.toml, Cargo.toml, go.mod, lock files,
// settings of linters): too many questions train people to say yes. Files that are
// seldom changed and always run something are control files: see workspace.Control.
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
	// Test runners, bundlers and linters: they run these before anything else, and
	// editors run the linters.
	{tool.Build, []string{
		"conftest.py", "noxfile.py", "tox.ini", "karma.conf.{js,cjs,ts}", ".{eslint,prettier,babel,mocha}rc.{js,cjs,mjs}",
		"{eslint,jest,vitest,vite,webpack}.config.{js,cjs,mjs,ts,cts,mts}", "{rollup,babel,next,playwright,postcss,prettier}.config.{js,cjs,mjs,ts,cts,mts}",
	}},
	// Containers: building or starting one runs these, often as root.
	{tool.Build, []string{"{Docker,Container}file{,.*}", "*.{dockerfile,containerfile}", "{docker-,}compose{,.*}.{yml,yaml}", "{flake,shell,default}.nix"}},
	// Instructions: agents read these before the person says anything.
	{tool.Instructions, []string{
		"AGENT{,S}{,.*}.md", "{CLAUDE,GEMINI,QWEN}{,.*}.md", "{WARP,CRUSH,COPILOT,CONVENTIONS}.md", "SKILL.md", "{.cursor,.windsurf,.cline,.roo}rules{,-*}", ".rules", ".goosehints",
		"**/{.cursor,.windsurf,.cline,.roo}rules/**", "**/.github/copilot-instructions.md", "**/.github/{instructions,prompts,agents,chatmodes,hooks}/**",
	}},
}

type sensitivePattern struct {
	note    tool.Note
	pattern Pattern
}

// sensitivePatterns is the table in the form that is matched. A pattern that is
// none panics, which a test would show.
var sensitivePatterns = sync.OnceValue(func() []sensitivePattern {
	var out []sensitivePattern
	for _, g := range sensitive {
		for _, s := range g.patterns {
			p, err := ParsePattern(s)
			if err != nil {
				panic(err)
			}
			out = append(out, sensitivePattern{g.note, p})
		}
	}
	return out
})

// NotesOf says what the name of a file gives reason to note, where it is
// written to: Build or Instructions. The path is relative to the workspace,
// links resolved. Case and composition do not count, since the file system may
// not regard them either.
func NotesOf(path string) []tool.Note {
	var notes []tool.Note
	for _, s := range sensitivePatterns() {
		if path != "" && !slices.Contains(notes, s.note) && s.pattern.matchFolded(path) {
			notes = append(notes, s.note)
		}
	}
	return notes
}
