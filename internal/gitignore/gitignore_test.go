package gitignore

import (
	"bytes"
	"fmt"
	"math/rand"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// TestAgainstGit compares random rules and paths with the results of git.
func TestAgainstGit(t *testing.T) {
	if _, err := exec.LookPath("git"); err != nil {
		t.Skip("git is not there")
	}
	rounds := 150
	if os.Getenv("STET_SOAK") != "" {
		rounds = 3000
	}
	rng := rand.New(rand.NewSource(1))
	dir := t.TempDir()
	git(t, dir, nil, "init", "-q")
	for round := range rounds {
		root, sub := randomRules(rng), randomRules(rng)
		if err := os.MkdirAll(filepath.Join(dir, "a"), 0o755); err != nil {
			t.Fatal(err)
		}
		write(t, filepath.Join(dir, ".gitignore"), root)
		write(t, filepath.Join(dir, "a", ".gitignore"), sub)
		var paths []string
		for range 40 {
			paths = append(paths, randomPath(rng))
		}
		in := strings.Join(paths, "\x00") + "\x00"
		out := git(t, dir, []byte(in), "check-ignore", "--no-index", "-z", "--stdin", "-v", "-n")
		fields := strings.Split(string(out), "\x00")
		rules := Add(nil, "", []byte(root))
		rules = Add(rules, "a", []byte(sub))
		for i, p := range paths {
			from, pattern := fields[4*i], fields[4*i+2]
			want := from != "" && !strings.HasPrefix(pattern, "!")
			if got := ignored(rules, p); got != want {
				t.Fatalf("round %d: %q: got %v, git says %v (%q in %q)\nroot %q\na %q", round, p, got, want, pattern, from, root, sub)
			}
		}
	}
}

// ignored checks each parent directory first, as a walk does.
func ignored(r *Rules, path string) bool {
	for i := range len(path) {
		if path[i] == '/' && r.Ignored(path[:i], true) {
			return true
		}
	}
	return r.Ignored(path, path == "a") // which exists
}

func randomRules(rng *rand.Rand) string {
	atoms := []string{"a", "b", "c", "*", "**", "?", "/", "/", "**/", "/**", "!", "[ab]", "[!a]", "[a-c]", "[[:alpha:]]", "\\", " ", "#", ".", "*.c", "[", "]", "-", "\\*", "\\ "}
	var b strings.Builder
	for range rng.Intn(5) {
		for range 1 + rng.Intn(5) {
			b.WriteString(atoms[rng.Intn(len(atoms))])
		}
		b.WriteString([]string{"\n", "\n", "\r\n"}[rng.Intn(3)])
	}
	return b.String()
}

func randomPath(rng *rand.Rand) string {
	names := []string{"a", "b", "c", "ab", "a.c", "b.c", "abc", "#", " ", "a ", "!a", "[", "*", "-", ".c", "]"}
	var parts []string
	for range 1 + rng.Intn(4) {
		parts = append(parts, names[rng.Intn(len(names))])
	}
	return strings.Join(parts, "/")
}

func git(t *testing.T, dir string, in []byte, args ...string) []byte {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "XDG_CONFIG_HOME="+dir)
	cmd.Stdin = bytes.NewReader(in)
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if exit, ok := err.(*exec.ExitError); err != nil && (!ok || exit.ExitCode() != 1) {
		t.Fatalf("git %v: %v\n%s", args, err, stderr.String())
	}
	return out
}

func write(t *testing.T, file, text string) {
	t.Helper()
	if err := os.WriteFile(file, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func TestRules(t *testing.T) {
	tests := []struct {
		rules, path string
		dir, want   bool
	}{
		{"*.log", "deep/x.log", false, true},
		{"/build", "build", true, true},
		{"/build", "x/build", true, false},
		{"build/", "build", false, false},
		{"a/**/z", "a/z", false, true},
		{"a/**/z", "a/b/c/z", false, true},
		{"**/z", "z", false, true},
		{"a**z", "a/z", false, false},
		{"*.log\n!keep.log", "keep.log", false, false},
		{`\#x`, "#x", false, true},
		{"x\\ ", "x ", false, true},
	}
	for _, tt := range tests {
		if got := Add(nil, "", []byte(tt.rules)).Ignored(tt.path, tt.dir); got != tt.want {
			t.Errorf("%q, %q: got %v", tt.rules, tt.path, got)
		}
	}
}

// TestHostilePatterns ends soon: a checkout's rules cannot hold up a listing. (FILE-18)
func TestHostilePatterns(t *testing.T) {
	const most = 1 << 20 // bytes of the rules that are read
	name := strings.Repeat("a", 250)
	for _, pattern := range []string{
		strings.Repeat("a*", 60) + "b",
		strings.Repeat("*a", 24) + "b",
		"/" + strings.Repeat("**/a*", 12) + "b",
		strings.Repeat("*a", most/2-1) + "b",
	} {
		rules := Add(nil, "", []byte(strings.Repeat(pattern+"\n", most/(len(pattern)+1))))
		for range 2 {
			if rules.Ignored(name, false) || rules.Ignored(strings.Repeat("a/", 60)+name, false) {
				t.Fatalf("%.30s matches", pattern)
			}
		}
	}
	if match("*["+strings.Repeat("[:", most/2)+"x]", name) { // none of them begins a class
		t.Error("a set of many [: matches")
	}
}

func FuzzRules(f *testing.F) {
	f.Add("*.c\n!a/**/b\n[[:alpha:]-z]\\", "a/b.c")
	f.Fuzz(func(t *testing.T, rules, path string) {
		Add(nil, "", []byte(rules)).Ignored(path, false)
	})
}

func ExampleRules_Ignored() {
	rules := Add(nil, "", []byte("*.o\n!keep.o\n"))
	fmt.Println(rules.Ignored("src/a.o", false), rules.Ignored("src/keep.o", false))
	// Output: true false
}
