package dialect

import (
	"strings"
	"testing"
)

// Calls whose results are lines that a search found, and calls whose results may be something else (TRIM-4).
func TestFinds(t *testing.T) {
	for command, want := range map[string]bool{
		"rg -n found src":                              true,
		"grep -rn found . | head -50":                  true,
		"git grep -n found":                            true,
		"cd src && rg -n -C 3 found | sed -n '1,40p'":  true,
		"find . -name '*.go' | xargs grep -n found":    true,
		"echo == && grep -rn found src; echo == && ls": true,
		"cat a.go":                   false,
		"rg -n found src; cat a.log": false,
		"rg -n -C 3 found > out.txt; python3 a.py; cat out.txt": false,
		"python3 a.py":          false,
		"grep -n found < a.log": false,
		"rg -l found src":       false,
	} {
		if a := Default().Action("Bash", `{"command":"`+command+`"}`); a.Finds() != want {
			t.Errorf("%s: %v", command, !want)
		}
	}
	if a := Default().Action("Grep", `{"pattern":"found","-C":3}`); !a.Finds() {
		t.Error("a tool that searches")
	}
	for name, args := range map[string]string{"Glob": `{"pattern":"*.go"}`, "Read": `{"file_path":"a.go"}`, "PowerShell": `{"command":"rg -n found"}`} {
		if a := Default().Action(name, args); a.Finds() {
			t.Errorf("%s finds lines", name)
		}
	}
}

// A command that may change something is not repeatable.
func TestRepeatable(t *testing.T) {
	for command, want := range map[string]bool{
		"go test ./... 2>&1 | tail -5": true, "cd src && make -j4": true, "rg -n found src": true, "git log --oneline": true, "git diff": true, "cat a.go": true,
		"npx jest": true, "bash -lc 'npm test'": true, "curl -sSL https://example.com | head": true, "find . | xargs grep x": true, "python3 -m pytest -q": true,
		"git push": false, "git stash pop": false, "git rebase main": false, "npm install": false, "pip install x": false, "rm -r a": false, "sed -i s/a/b/ a.go": false,
		"make > log": false, "python3 a.py": false, "./run.sh": false, "curl -X POST https://example.com": false, "curl -o a https://example.com": false,
		"go test ./... && git commit -am x": false, "cat a.go; make; git push": false, "find . -delete": false, "npm run deploy": false, "make deploy": false, "make -j4 test": true, "mvn -q verify": true, "mvn deploy": false, "cmake --install .": false, "echo 'a": false,
		"sed -n '5,9p' a.go": true, "sed -e 's/we/e;w/g' -e '/w/d' a.go": true, "sed 's|a|b|; /x/{p;q}' a": true, "sed -n \"$1,9p\" w.go": true, "sed '/a/a we wait' a": true, "ls | sed -E 's/[0-9]+$//;bw'": true,
		"sed 'w out' a": false, "sed -n '/a/w out' a": false, "sed 's/a/b/w out' a": false, "sed 's/a/date/e' a": false, "sed -e p -e '1e date' a": false, "sed -ni p a": false, "sed --in-place=.old p a": false,
		"sed -f script a": false, "find . | xargs sed -i s/a/b/": false, "timeout 5 sed 'W out' a": false, "find . | xargs sed -n 5p": true,
		"awk '$1 > 5 {print $2}' a": true, "awk -F'|' '/a|b/ || $2 {printf \"> %s\\n\", $1}' a": true, "awk -v n=3 'NR==n' a": true,
		"awk '{system($1)}' a": false, "awk '{print $1 > \"out\"}' a": false, "awk '{print | \"sort\"}' a": false, "awk -f a.awk b": false, "awk -i inplace 1 a": false, "xargs awk '{ print >> f }'": false, "sort -o a a": false,
		"sort -ro a a": false, "sort --out=a a": false, "sort -t: -k2,2n a": true, "find . -fls a": false, "find . -follow -name a": true, "tree -o a": false, "tree -L 2": true,
		"uniq a b": false, "uniq -c a": true, "xxd -l 9 a": true, "date -s 12:00": false, "date +%F": true, "git diff --output=a": false, "sed --in s/a/b/ a": false, "sed --expr='w a' b": false, "sed --quiet 5p a": true,
		`awk '{gsub(/"/, ""); print > "out"}' a`: false, `awk '{print a/b > "x" c/d}' a`: false, "awk '{print $1,\n $2 > \"x\"}' a": false, `awk '/"/ {print $1}' a`: true, "awk '{print $1/2, $3/4}' a": true,
	} {
		if a := (Action{Op: Shell, Command: command}); a.Repeatable() != want {
			t.Errorf("%s: %v", command, !want)
		}
	}
}

func FuzzSearchRows(f *testing.F) {
	f.Add("src/a.go:1:x\nsrc/a.go-2-y\n--\nsrc/a.go:9:z\n/p/src/a.go-10-\nC:\\b\\a.go:1:\n2026-10-04-a.md:205:\n")
	f.Fuzz(func(t *testing.T, text string) {
		lines := strings.SplitAfter(text, "\n")
		at := 0
		for _, rows := range SearchRows(lines) {
			if rows.From < at || len(rows.Starts) == 0 || rows.Path == "" {
				t.Fatalf("%+v begins before line %d, or has none", rows, at)
			}
			for i, start := range rows.Starts {
				line := lines[rows.From+i]
				if start == 0 {
					if line != Parted {
						t.Errorf("%q stays as it is", line)
					}
					continue
				}
				path := line[:start-1]
				if n, mark := LineNumber(line[start:]); n == 0 || mark != line[start-1] || path != rows.Path && !strings.HasSuffix(rows.Path, "/"+path) {
					t.Errorf("%q is a line of %q", line, rows.Path)
				}
			}
			at = rows.From + len(rows.Starts)
		}
	})
}
