package policy_test

import (
	"slices"
	"testing"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/tool"
)

// A person is asked about files that building or installing runs, and files that agents obey, even if there is a grant. Ordinary
// sources need no such question.
func TestSensitiveFiles(t *testing.T) {
	session := []policy.Rule{{On: policy.Write, Do: policy.Allow}}
	for note, paths := range map[tool.Note][]string{
		tool.Build: {
			"Makefile", "makefile", "sub/GNUmakefile", "rules.mk", "justfile", ".justfile", "Taskfile.yml", "Taskfile.dist.yaml",
			"package.json", "PACKAGE.JSON", "web/package.json", "setup.py", "conftest.py", "tests/conftest.py", "build.rs", "build.gradle",
			"app/build.gradle.kts", "settings.gradle", "CMakeLists.txt", "Rakefile", "Dockerfile", "Dockerfile.dev", "web.dockerfile",
			"docker-compose.yml", "docker-compose.dev.yaml", "compose.yaml", "tox.ini", "noxfile.py", "composer.json", "flake.nix",
			"Makefile.inc", "lib/tasks/a.rake", "gulpfile.js", "Gruntfile.js", "BUILD.bazel", "pkg/BUILD", "WORKSPACE", "rules/a.bzl", "app.fsproj", "build.zig",
			"svelte.config.js", "astro.config.mjs", "tailwind.config.ts", "nuxt.config.ts", "vue.config.js", "metro.config.js", "stylelint.config.mjs", "commitlint.config.cjs",
			"pytest.ini", "setup.cfg", ".stylelintrc.js", ".commitlintrc.cjs", "wdio.conf.ts", "cypress.config.ts", "drizzle.config.ts", "tsup.config.ts", "gatsby-node.js",
			".lintstagedrc.json", ".storybook/main.js", "docs/.vitepress/config.mts", "cdk.json", "netlify.toml", "angular.json", "phpunit.xml", ".rubocop.yml", "mypy.ini",
			"eslint.config.mjs", ".eslintrc.cjs", "jest.config.ts", "web/vite.config.ts", "karma.conf.js", "src/evil.pth", "project/plugins.sbt",
		},
		tool.Instructions: {
			"AGENTS.md", "agents.md", "deep/er/AGENTS.md", "AGENTS.override.md", "CLAUDE.md", "CLAUDE.local.md", "GEMINI.md",
			".cursorrules", ".windsurfrules", ".clinerules", ".clinerules/a.md", "sub/.clinerules/b/c.md",
			".github/copilot-instructions.md", ".github/instructions/go.instructions.md", "skills/x/SKILL.md",
			"WARP.md", "CONVENTIONS.md", ".rules", ".roorules-code", ".github/hooks/a.json",
		},
		"": {
			"main.go", "docs/makefile.md", "package.json.md", "my-package.json", "src/agents.go", "AGENTS/x.go", "docs/claude.txt", "src/build.go", "build/x.go", "workspace/x.go", "tsconfig.json", ".eslintrc.json", "app.config.ts", "auth.config.ts", "config.ts", "src/config.js", "vite.config.test.ts", "conf.js", "app.json", "jest.config.json", "rules.go", "pyproject.toml", "Cargo.toml",
			"go.mod", "package-lock.json", "tests/test_a.py", "dockerfile_test.go", "compose.go", ".github/ISSUE_TEMPLATE.md", "",
		},
	} {
		for _, path := range paths {
			var want []tool.Note
			if note != "" {
				want = []tool.Note{note}
			}
			if got := policy.NotesOf(path); !slices.Equal(got, want) {
				t.Errorf("%s: %q, want %q", path, got, want)
			}
			r := policy.Request{Tool: "write_file", Path: path, Write: true, Grants: session}
			p := policy.Policy{Rules: []policy.Rule{{Do: policy.Allow}}, Relay: nil}
			if d := p.Decide(r); (d.Action == policy.Ask) != (note != "") || d.Action == policy.Ask && (d.Grantable || d.Relay) {
				t.Errorf("%s: %+v", path, d)
			}
			if d := (&policy.Policy{Unattended: true}).Decide(r); d.Action != policy.Allow {
				t.Errorf("%s, unattended: %+v", path, d)
			}
			if r.NoPerson = true; note != "" && p.Decide(r).Action != policy.Deny {
				t.Errorf("%s, no person: not refused", path)
			}
			if r.Write = false; p.Decide(r).Action != policy.Allow {
				t.Errorf("%s cannot be read", path)
			}
		}
	}
}

// A caution that allows unattended writes does not hide later cautions.
func TestSensitiveAndUnread(t *testing.T) {
	d := (&policy.Policy{Unattended: true}).Decide(policy.Request{Tool: "write_file", Path: "Makefile", Write: true, Notes: []tool.Note{tool.Build, tool.Unread}})
	if d.Action != policy.Deny || d.Rule != "unread" {
		t.Errorf("%+v", d)
	}
}
