package dialect

import (
	"slices"
	"testing"
)

// Invariant 6: an output counts as one that may show text of files, unless its command is known to show none.
func TestMayShowFiles(t *testing.T) {
	for _, command := range []string{
		"go test ./... | tail -5", "git log --oneline | head", "ls -l; wc -l a.go", "cat", "cd src && FOO=1 make -j4 2>&1 | grep -v warning",
		"bash -lc 'npm ci && npm test'", "timeout -k 5 60 ./gradlew build", "npx -y jest src/a.test.ts", "python3 -m pytest -x tests/a.py | sed -n '1,40p'",
		"git diff --stat HEAD~1", "git status --short && git push -u origin main", "sed -i 's/a/b/' a.go && go build ./...",
		"find . -name '*.go' | xargs rm -f", "rg -l main src", "grep -rlc x .", "uv run pytest", "if [ -d x ]; then rm -r x; fi",
		"for i in 1 2 3; do sleep 1; done", "docker compose up -d", "curl -sI localhost:8080", "cat <<EOF | tee a.txt\nx\nEOF", "node --version",
		"ps aux | awk '{print $2}' | sort -n | uniq -c", "sudo apt-get install -y jq", "source .venv/bin/activate && pip install -e .", "pytest < /dev/null",
	} {
		if a := (Action{Op: Shell, Command: command}); a.MayShowFiles("ok") {
			t.Errorf("%q shows no file", command)
		}
	}
	for _, command := range []string{
		"", "cd src && cat a.go | head -50", "FOO=1 sed -n '1,9p' a.go; make", "for f in *.go; do cat $f; done", "(tail -n 20 a.go)",
		"git -C src show HEAD:a.go", "git log -p a.go", "git --no-pager diff", "git stash show", "git grep x", "git blame a.go",
		"grep -n -A 60 'def main' src/a.py", "rg -A 60 main", "go test ./... | grep -f a.txt", "make && grep x a.go", "python3 -c \"print(open('a.py').read())\"",
		"docker exec web cat /app/a.py", "perl -ne 'print if 1..60' a.py", "find . -name a.py -exec cat {} +", "batcat a.py",
		"bash -lc 'cat src/a.py src/b.py'", "ls src/*.py | xargs cat", "ls | xargs grep x", "echo \"$(cat a.go)\"", "echo \"$(<a.go)\"", "cat < a.go",
		"while read l; do echo $l; done < a.go", "cp a.go /dev/stdout", "tee < a.go", "./run.sh", "./ls a.go", "$CMD a.go", "make; $(echo cat) a.go",
		"awk 'BEGIN{while((getline l<\"a.go\")>0)print l}'", "head -n 20 a.go", "eval \"cat a.go\"", "gh pr diff 3", "curl localhost/a.go",
		"npx cat a.go", "sudo cat a.go", "env A=1 cat a.go", "gofmt a.go", "Get-Content a.go", "cat a.go &", "if cat a.go; then make; fi", "unclosed '",
	} {
		if a := (Action{Op: Shell, Command: command}); !a.MayShowFiles("ok") {
			t.Errorf("%q may show files", command)
		}
	}
	for command, want := range map[string]bool{
		`type src\app.ts`: true, "type src/app.ts | Select-Object -First 40": true, "TYPE app.ts": true, `Get-Content -Path src\app.ts -TotalCount 90`: true,
		"powershell.exe -NoProfile -Command Get-Content app.ts": true, `pwsh -c "cd src; (gc app.ts)[4..9]"`: true, `cmd /c type app.ts`: true,
		`cmd.exe /c "type src\app.ts"`: true, "/bin/cat a.go": true, "/usr/bin/sed -n 1,9p a.go": true, "hexdump -C a": true, "vim -es -c %p -c q a.go": true,
		"php -r 'echo file_get_contents(\"a\");'": true, "deno eval 'read()'": true, "lua -e 'read()'": true, "Rscript -e 'readLines(\"a\")'": true,
		"fish -c 'cat a.go'": true, "nu -c 'open a.go'": true, "conda run cat a.go": true, "clang-format a.c": true, "unzip -p a.zip a.go": true,
		"php artisan migrate": false, "deno run a.ts": false, "Rscript a.R": false, "/usr/bin/make test": false, "conda install x": false,
		"type go": false, "type -a python3": false, "cmd /c dir src": false, "echo type a.ts": false, "powershell": false, "gcc a.c": false,
	} {
		if a := (Action{Op: Shell, Command: command}); a.Quotes("ok") != want || want && !a.MayShowFiles("ok") {
			t.Errorf("%q prints files: %v", command, !want)
		}
	}
	for _, output := range []string{"--- a\n+++ b\n@@ -1,3 +1,4 @@\n a", "diff --git a/a b/a"} {
		if a := (Action{Op: Shell, Command: "make check"}); !a.MayShowFiles(output) {
			t.Errorf("%q is a difference", output)
		}
	}
	for _, tt := range []struct {
		name, args string
		want       bool
	}{
		{"Grep", `{"pattern":"x","output_mode":"content"}`, true},
		{"Grep", `{"pattern":"x"}`, true},
		{"Grep", `{"pattern":"x","output_mode":"files_with_matches"}`, false},
		{"Glob", `{"pattern":"*.go"}`, false},
		{"WebFetch", `{"url":"https://example.com","prompt":"p"}`, false},
		{"Task", `{"prompt":"look","description":"x"}`, true},
	} {
		if a := Default().Action(tt.name, tt.args); a.MayShowFiles("ok") != tt.want {
			t.Errorf("%s %s: %v", tt.name, tt.args, !tt.want)
		}
	}
}

// Invariant 6: edits are made from what cat, sed and similar commands print, and from diffs. A search prints single lines, and a
// web page is not a file.
func TestQuotes(t *testing.T) {
	for command, want := range map[string]bool{
		"cat a.go | head -50": true, "cd src && sed -n '1,9p' a.go; make": true, "for f in *.go; do cat $f; done": true, "git show HEAD:a.go": true,
		"git log -p a.go": true, "git --no-pager diff": true, "git stash show": true, "git blame a.go": true, "git grep -n -C 9 x": true,
		"grep -n -A 60 'def main' a.py": true, "rg --context=9 main": true, "python3 -c \"print(open('a.py').read())\"": true, "python3 - <<E\nx\nE": true,
		"docker exec web cat /app/a.py": true, "perl -ne 'print if 1..60' a.py": true, "find . -name a.py -exec cat {} +": true, "batcat a.py": true,
		"bash -lc 'cat a.py b.py'": true, "ls src/*.py | xargs cat": true, "echo \"$(cat a.go)\"": true, "cat < a.go": true, "cp a.go /dev/stdout": true,
		"$CMD a.go": true, "make; $(echo cat) a.go": true, "sudo cat a.go": true, "gofmt a.go": true, "Get-Content a.go": true, "eval \"cat a.go\"": true, "unclosed '": true,
		"awk 'BEGIN{while((getline l<\"a.go\")>0)print l}'": true,

		"go test ./... | tail -5": false, "rg -n main src": false, "grep -rn main .": false, "git grep main": false, "git log --oneline": false, "git status": false,
		"curl -s https://example.com/a.go | rg x": false, "gh pr view 3": false, "./run.sh": false, "python3 tools/report.py --all": false, "wget -qO- x | head -5": false,
		"kubectl get pods": false, "gofmt -l .": false, "": false,
	} {
		if a := (Action{Op: Shell, Command: command}); a.Quotes("ok") != want {
			t.Errorf("%q: %v", command, !want)
		}
	}
	if a := (Action{Op: Shell, Command: "gh pr diff 3"}); !a.Quotes("diff --git a/b b/b") {
		t.Error("a difference quotes")
	}
	for args, want := range map[string]bool{`{"pattern":"x","output_mode":"content"}`: false, `{"pattern":"x","output_mode":"content","-C":5}`: true} {
		if a := Default().Action("Grep", args); a.Quotes("ok") != want {
			t.Errorf("Grep %s: %v", args, !want)
		}
	}
}

// The agent works on the paths that a command names, if the command may change something there.
func TestChanges(t *testing.T) {
	for command, want := range map[string]bool{
		"cd /srv/a && grep -rn x . 2>/dev/null | head": false, "git -C /srv/a log": false, "find /srv -name x 2>&1": false,
		"cd /srv/a && make": true, "sed -i 's/a/b/' /srv/a": true, "echo x > /srv/a": true, "find /srv -delete": true, "git checkout /srv/a": true, "unclosed '": true,
		"sed -n 5p /srv/a": false, "sed 'w /srv/b' /srv/a": true, "awk '{print > \"/srv/b\"}' /srv/a": true,
	} {
		if a := (Action{Op: Shell, Command: command}); a.Changes() != want {
			t.Errorf("%q: %v", command, !want)
		}
	}
	got := slices.Collect(Paths("see `/srv/a.go`, (src/b.go): and https://example.com/x or nothing. --out=/srv/c."))
	if want := []string{"/srv/a.go", "src/b.go", "/srv/c"}; !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
}

// Texts that persons wrote to each other are distinguished from the outputs of commands.
func TestByPersons(t *testing.T) {
	for command, want := range map[string]bool{
		"gh issue view 5 --comments": true, "cd a && gh pr view 7 --json body 2>&1 | head": true, "glab mr view 3": true, "gh issue list": false, "gh pr checks 7": false,
		"gh run view 5": false, "git show": false, "gh": false, "gh 'issue view": false,
	} {
		if a := (Action{Op: Shell, Command: command}); a.ByPersons() != want {
			t.Errorf("%q: %v", command, !want)
		}
	}
}

func FuzzMayShowFiles(f *testing.F) {
	f.Add("timeout -k 5", "out")
	f.Add("xargs -0", "")
	f.Fuzz(func(t *testing.T, command, output string) {
		a := Action{Op: Shell, Command: command}
		a.MayShowFiles(output)
		a.Changes()
	})
}

func TestAgentRow(t *testing.T) {
	for name, args := range map[string]string{
		"Task":  `{"description":"look","prompt":"look at it","subagent_type":"x"}`,
		"Agent": `{"prompt":"look at it"}`,
	} {
		if a := Default().Action(name, args); a.Op != Agent || a.Content != "look at it" || a.Command != args {
			t.Errorf("%s: %+v", name, a)
		}
	}
	if a := Default().Action("Task", "no JSON"); a.Op != Agent || a.Content != "" {
		t.Errorf("%+v", a)
	}
}
