package archtest

import (
	"io/fs"
	"os"
	"path"
	"regexp"
	"strings"
	"testing"
	"unicode"
)

// pages returns the documentation pages in the root and in docs.
func pages(t *testing.T, tree fs.FS) map[string]string {
	t.Helper()
	all := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md"} {
		names, err := fs.Glob(tree, pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := fs.ReadFile(tree, name)
			if err != nil {
				t.Fatal(err)
			}
			all[name] = string(text)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d pages found", len(all))
	}
	return all
}

var (
	fences   = regexp.MustCompile("(?ms)^```.*?^```")
	spans    = regexp.MustCompile("`[^`\n]*`")
	links    = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	headings = regexp.MustCompile(`(?m)^#+ (.*)$`)
)

// TestLinks checks the links between pages: the file and the heading.
func TestLinks(t *testing.T) {
	tree := os.DirFS(root(t))
	all := pages(t, tree)
	checked := 0
	for name, text := range all {
		for _, m := range links.FindAllStringSubmatch(spans.ReplaceAllString(fences.ReplaceAllString(text, ""), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			checked++
			file, anchor, _ := strings.Cut(m[1], "#")
			to := name
			if file != "" {
				to = path.Join(path.Dir(name), file)
			}
			if _, err := fs.Stat(tree, to); err != nil {
				t.Errorf("%s links to %s: %v", name, m[1], err)
				continue
			}
			if anchor != "" && !anchors(all[to])[anchor] {
				t.Errorf("%s links to %s: no such heading", name, m[1])
			}
		}
	}
	if checked < 30 {
		t.Errorf("only %d links found", checked)
	}
}

// anchors returns the link names of a page's headings.
func anchors(page string) map[string]bool {
	all := map[string]bool{}
	for _, h := range headings.FindAllStringSubmatch(fences.ReplaceAllString(page, ""), -1) {
		all[strings.Map(func(r rune) rune {
			switch {
			case r == ' ' || r == '-':
				return '-'
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '_':
				return unicode.ToLower(r)
			}
			return -1
		}, h[1])] = true
	}
	return all
}

var (
	packageOfTests = regexp.MustCompile("`([a-z/]+)` (Test[A-Za-z0-9]+(?:, Test[A-Za-z0-9]+)*)")
	commandBlock   = regexp.MustCompile("(?m)^(.*)\n```([a-z]*)\n(?:#.*\n)*(?:[A-Z_]+=\\S+ )*(stet|make|go|sudo) ")
)

// TestSecurityModel checks that the tests named in docs/security.md exist.
func TestSecurityModel(t *testing.T) {
	tree := os.DirFS(root(t))
	found := 0
	for _, m := range packageOfTests.FindAllStringSubmatch(pages(t, tree)["docs/security.md"], -1) {
		files, err := fs.Glob(tree, m[1]+"/*_test.go")
		if err != nil {
			t.Fatal(err)
		}
		var text strings.Builder
		for _, f := range files {
			b, err := fs.ReadFile(tree, f)
			if err != nil {
				t.Fatal(err)
			}
			text.Write(b)
		}
		for test := range strings.SplitSeq(m[2], ", ") {
			found++
			if !strings.Contains(text.String(), "\nfunc "+test+"(t *testing.T)") {
				t.Errorf("%s has no %s", m[1], test)
			}
		}
	}
	if found < 25 {
		t.Errorf("only %d tests found", found)
	}
}

// TestBlocks: a block of commands is marked sh, and cmd/stet runs it, or it says why it is not run.
func TestBlocks(t *testing.T) {
	found := 0
	for name, text := range pages(t, os.DirFS(root(t))) {
		for _, m := range commandBlock.FindAllStringSubmatch(text, -1) {
			found++
			if m[2] != "sh" && !strings.HasPrefix(m[1], "<!-- not run: ") {
				t.Errorf("%s: the block that begins with %s is not marked sh, and does not say why it is not run", name, strings.TrimSpace(m[0]))
			}
		}
	}
	if found < 6 {
		t.Errorf("only %d blocks found", found)
	}
}
