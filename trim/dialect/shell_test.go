package dialect

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestShellReads(t *testing.T) {
	for _, tt := range []struct {
		command string
		want    []excerpt // nil: not a read
	}{
		{"cat a.go", []excerpt{{path: "a.go", first: 1}}},
		{"cat ./a.go", []excerpt{{path: "a.go", first: 1}}},
		{"cat 'a b.go'", []excerpt{{path: "a b.go", first: 1}}},
		{`cat "a b.go"`, []excerpt{{path: "a b.go", first: 1}}},
		{"cat ~/a.go", []excerpt{{path: "~/a.go", first: 1}}},
		{"cat a.go 2>/dev/null", []excerpt{{path: "a.go", first: 1}}},
		{"cat -n a.go", []excerpt{{path: "a.go", first: 1, numbered: true}}},
		{"nl -ba a.go", []excerpt{{path: "a.go", first: 1, numbered: true}}},
		{"nl -b a a.go", []excerpt{{path: "a.go", first: 1, numbered: true}}},
		{"head -n 5 a.go", []excerpt{{path: "a.go", first: 1, last: 5}}},
		{"head -5 a.go", []excerpt{{path: "a.go", first: 1, last: 5}}},
		{"tail -n +7 a.go", []excerpt{{path: "a.go", first: 7}}},
		{"tail -n 7 a.go", []excerpt{{path: "a.go", tail: 7}}},
		{"tail -7 a.go", []excerpt{{path: "a.go", tail: 7}}},
		{"sed -n '3,9p' a.go", []excerpt{{path: "a.go", first: 3, last: 9}}},
		{"sed -n 3,9p a.go", []excerpt{{path: "a.go", first: 3, last: 9}}},
		{"sed -n '3p' a.go", []excerpt{{path: "a.go", first: 3, last: 3}}},
		{"sed -n '3,$p' a.go", []excerpt{{path: "a.go", first: 3}}},
		{"sed -n '3,9p' a.go; sed -n '20,30p' a.go", []excerpt{{path: "a.go", first: 3, last: 9}, {path: "a.go", first: 20, last: 30}}},
		{"nl -ba a.go | sed -n '3,9p'", []excerpt{{path: "a.go", first: 3, last: 9, numbered: true}}},
		{"cat a.go | head -n 5", []excerpt{{path: "a.go", first: 1, last: 5}}},
		{"cat a.go 2>/dev/null | head -5", []excerpt{{path: "a.go", first: 1, last: 5}}},
		{"sed -n '3,9p' a.go | cat", []excerpt{{path: "a.go", first: 3, last: 9}}},
		{"sed -n '3,9p' a.go | head -n 2", []excerpt{{path: "a.go", first: 3, last: 4}}},
		{"cat -n a.go | head -n 9 | tail -n 2", []excerpt{{path: "a.go", tail: 2, numbered: true}}},
		{"cd src && cat a.go", []excerpt{{path: "src/a.go", first: 1}}},
		{"cd /p && cd src && cat a.go", []excerpt{{path: "/p/src/a.go", first: 1}}},
		{"cd /p; cat /q/a.go", []excerpt{{path: "/q/a.go", first: 1}}},
		{"sed -n '1,5p' a.go && sed -n '1,5p' b.go", []excerpt{{path: "a.go", first: 1, last: 5}, {path: "b.go", first: 1, last: 5}}},
		{"nl -ba a.go; nl -ba b.go", []excerpt{{path: "a.go", first: 1, numbered: true}, {path: "b.go", first: 1, numbered: true}}},

		{"cat a.go b.go", nil},
		{"echo x", nil},
		{"cat a.go; echo '---'; cat b.go", nil},
		{"cat a.go && cat b.go", nil},
		{"cat a.go; sed -n '1,5p' b.go", nil},
		{"cat", nil},
		{"cat *.go", nil},
		{"cat a?.go", nil},
		{"cat {a,b}.go", nil},
		{"cat $F", nil},
		{`cat "$F"`, nil},
		{"cat $(ls)", nil},
		{"cat `ls`", nil},
		{"cat <(ls)", nil},
		{"cat a.go > b.go", nil},
		{"cat a.go 2>&1", nil},
		{"cat > a.go <<EOF\nx\nEOF", nil},
		{"cat -A a.go", nil},
		{"nl a.go", nil},
		{"cat a.go | grep x", nil},
		{"cat a.go || true", nil},
		{"cat a.go &", nil},
		{"! cat a.go", nil},
		{"X=1 cat a.go", nil},
		{"cat ~root/a.go", nil},
		{"sed -i 's/a/b/' a.go", nil},
		{"sed -n '/x/p' a.go", nil},
		{"sed -n '3,9p' a.go b.go", nil},
		{"sed -n '9,3p' a.go", nil},
		{"sed -n '1,3p;5,9p' a.go", nil},
		{"sed -n -e '3,9p' -e '20,30p' a.go", nil},
		{"sed '3,9p' a.go", nil},
		{"head -n -5 a.go", nil},
		{"head -c 5 a.go", nil},
		{"head -n 9 a.go | tail -n 2", nil},
		{"tail -f a.go", nil},
		{"git show HEAD:a.go", nil},
		{"git diff a.go", nil},
		{"make && cat a.go", nil},
		{"cat a.go && make", nil},
		{"cd src", nil},
		{"cd", nil},
		{"cd a b && cat a.go", nil},
		{"(cat a.go)", nil},
		{"for f in a b; do cat $f; done", nil},
		{"cat 'unclosed", nil},
		{"", nil},
	} {
		if got := shellReads(tt.command); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %+v, want %+v", tt.command, got, tt.want)
		}
	}
}

// The text that agents put before and after an output.
func TestShellResults(t *testing.T) {
	const body = "one\n\n\tthree\n"
	lines := []string{"one", "", "\tthree"}
	for _, tt := range []struct {
		name, args, text string
		first, total     int
		lines            []string
		cut, failed      bool
	}{
		{"exec_command", `{"cmd":"cat a"}`, codexHead + body, 1, 3, lines, false, false},
		{"exec_command", `{"cmd":"cat a"}`, "Wall time: 0.0000 seconds\nOutput:\n" + body, 1, 3, lines, false, false},
		{"exec_command", `{"cmd":"cat a"}`, strings.Replace(codexHead, "code 0", "code 1", 1) + "cat: a: No such file or directory\n", 0, 0, nil, false, true},
		{"exec_command", `{"cmd":"cat a"}`, codexHead + "Total output lines: 900\n\none\ntwo…90 tokens truncated…three\nfour\n", 1, 0, []string{"one"}, true, false},
		{"exec_command", `{"cmd":"cat a"}`, "Chunk ID: 1\nWall time: 1 seconds\nProcess running with session ID 7\nOutput:\none\n", 1, 0, []string{"one"}, true, false},
		{"exec_command", `{"cmd":"sed -n '2,4p' a"}`, codexHead + "mise WARN  missing: x\n" + body, 2, 0, lines, false, false},
		{"exec_command", `{"cmd":"sed -n '2,3p' a"}`, codexHead + "some noise\n" + body, 2, 0, append([]string{"some noise"}, lines...), true, false},
		{"exec_command", `{"cmd":"sed -n '2,9p' a"}`, codexHead + body, 2, 4, lines, false, false},
		{"exec_command", `{"cmd":"tail -n 2 a"}`, codexHead + "x\ny\n", 0, 0, []string{"x", "y"}, true, false},
		{"exec_command", `{"cmd":"tail -n 9 a"}`, codexHead + "x\ny\n", 1, 2, []string{"x", "y"}, false, false},
		{"exec_command", `{"cmd":"nl -ba a | sed -n '5,9p'"}`, codexHead + "     5\tx\n     6\t\n", 5, 6, []string{"x", ""}, false, false},
		{"shell", `{"command":["bash","-lc","cat a"]}`, `{"output":"one\n\n\tthree\n","metadata":{"exit_code":0}}`, 1, 3, lines, false, false},
		{"shell", `{"command":["bash","-lc","cat a"]}`, `{"output":"cat: a: No such file or directory\n","metadata":{"exit_code":1}}`, 0, 0, nil, false, true},
		{"bash", `{"command":"cat a"}`, "<returncode>0</returncode>\n<output>\n" + body + "</output>", 1, 3, lines, false, false},
		{"bash", `{"command":"cat a"}`, "<returncode>1</returncode>\n<output>\ncat: a: No such file or directory\n</output>", 0, 0, nil, false, true},
		{"bash", `{"command":"cat a"}`, "<returncode>0</returncode>\n<warning>\nToo long.\n</warning><output_head>\none\ntw\n</output_head>\n<elided_chars>\n96 characters elided\n</elided_chars>\n<output_tail>\nx\n</output_tail>", 1, 0, []string{"one"}, true, false},
		{"bash", `{"command":"cat a"}`, body, 1, 3, lines, false, false},
		{"bash", `{"command":"cat a"}`, strings.TrimSpace(body), 1, 0, lines, true, false}, // the output is trimmed, so blank lines may be missing
		{"bash", `{"command":"sed -n '1,3p' a"}`, strings.TrimSpace(body), 1, 0, lines, false, false},
		{"bash", `{"command":"sed -n '1,3p' a"}`, "one\n\n\tthree\n<exited with exit code 0>", 1, 0, lines, false, false},
		{"bash", `{"command":"cat a"}`, "OBSERVATION:\none\r\n\r\n\tthree\r\n", 1, 3, lines, false, false},
		{"bash", `{"command":"cat a"}`, "one\n\n\tthree\n\n<shellId: 0 completed with exit code 0>", 1, 3, lines, false, false},
		{"bash", `{"command":"sed -n '1,3p' a"}`, "one\n\n\tthree\n<shellId: 0 completed with exit code 0>", 1, 0, lines, false, false},
		{"bash", `{"command":"cat a"}`, "one\n<shellId: b2 completed with exit code 3>", 0, 0, nil, false, true},
		{"bash", `{"command":"cat a"}`, "cat: a: Is a directory\n\n\nCommand exited with code 1", 0, 0, nil, false, true},
		{"bash", `{"command":"cat a"}`, "(no output)", 1, 0, nil, true, false},
		{"Bash", `{"command":"cat a"}`, "cat: a: Permission denied", 0, 0, nil, false, true},
		{"Bash", `{"command":"sed -n '1,3p' a"}`, "one\n\n\tthree\nShell cwd was reset to /p", 1, 0, lines, false, false},
		{"execute_bash", `{"command":"sed -n '1,3p' a"}`, "one\n\n\tthree\n[The command completed with exit code 0.]\n[Current working directory: /p]", 1, 0, lines, false, false},
		{"execute_bash", `{"command":"cat a"}`, "oops\n[The command completed with exit code 1.]", 0, 0, nil, false, true},
		{"run_shell_command", `{"command":"cat a"}`, "Command: cat a\nDirectory: (root)\nOutput: one\n\n        three\nError: (none)\nExit Code: 0\nSignal: (none)", 1, 0, []string{"one", "", "        three"}, true, false},
		{"run_shell_command", `{"command":"cat a"}`, "Command: cat a\nDirectory: (root)\nOutput: (empty)\nError: (none)\nExit Code: 0", 1, 0, nil, true, false},
		{"run_shell_command", `{"command":"cat a"}`, "Command: cat a\nOutput: cat: a: No\nError: (none)\nExit Code: 1\nSignal: (none)", 0, 0, nil, false, true},
		{"run_shell_command", `{"command":"cat a","description":"x"}`, "<untrusted_context>\nOutput: one\n\n        three\nProcess Group PGID: 315\n</untrusted_context>", 1, 0, []string{"one", "", "        three"}, true, false},
		{"run_shell_command", `{"command":"cat a"}`, "Output: one\n\n        three\nBackground PIDs: 7, 8\nProcess Group PGID: 315", 1, 0, []string{"one", "", "        three"}, true, false},
		{"run_shell_command", `{"command":"cat a"}`, "<untrusted_context>\nOutput: cat: a: No\nExit Code: 1\nProcess Group PGID: 315\n</untrusted_context>", 0, 0, nil, false, true},
		{"run_shell_command", `{"command":"cat a"}`, "<untrusted_context>\nOutput: (empty)\nProcess Group PGID: 315\n</untrusted_context>", 1, 0, nil, true, false},
		{"run_commands", `{"commands":["cat a"]}`, `[{"query":"cat a","result":"one\n\n\tthree\n","success":true}]`, 1, 3, lines, false, false},
		{"run_commands", `{"commands":["cat a"]}`, `[{"query":"cat a","result":"x","error":"Command exited with code 2","success":false}]`, 0, 0, nil, false, true},
	} {
		a := Default().Action(tt.name, tt.args)
		res := Default().Result(a, tt.text, false)
		if a.Op != Read || len(res.Sections) != 1 {
			t.Errorf("%s %q: op %d, %+v", tt.args, tt.text, a.Op, res)
			continue
		}
		s := res.Sections[0]
		if s.First != tt.first || s.Total != tt.total || !slices.Equal(s.Lines, tt.lines) || s.Cut != tt.cut || s.Failed != tt.failed || res.Failed != tt.failed {
			t.Errorf("%s %q:\n got first %d, total %d, cut %v, failed %v %q\nwant first %d, total %d, cut %v, failed %v %q",
				tt.args, tt.text, s.First, s.Total, s.Cut, s.Failed, s.Lines, tt.first, tt.total, tt.cut, tt.failed, tt.lines)
		}
	}
}

// Several ranges in one output are separated, or the output has no sections.
func TestShellSections(t *testing.T) {
	for _, tt := range []struct{ command, body, want string }{
		{"sed -n '1,2p' a && sed -n '5,6p' b", "1\n2\n5\n6\n", "a 1 [1 2] b 5 [5 6] "},
		{"sed -n '1,2p' a && sed -n '5,6p' b", "1\n2\n5\n", ""}, // it is unknown which range was shorter
		{"sed -n '1,2p' a; sed -n '5,6p' a", "1\n2\n5\n", "a 1 [1 2] a 5 [5] "},
		{"sed -n '1,2p' a; sed -n '5,6p' a", "1\n", "a 1 [1] a 5 [] "},
		{"sed -n '1,2p' a; sed -n '5,6p' a", "1\n2\n5\n6\n7\n", ""},
		{"nl -ba a; nl -ba b", "     1\tx\n     2\ty\n     1\tz\n", "a 1 [x y] b 1 [z] "},
		{"nl -ba a | sed -n '1,2p'; nl -ba b | sed -n '3,4p'", "     1\tx\n     2\ty\n     3\tz\n", "a 1 [x y] b 3 [z] "},
		{"nl -ba a; nl -ba b", "     1\tx\ncat: b: No such file or directory\n", ""},
	} {
		a := Default().Action("exec_command", encoded(map[string]any{"cmd": tt.command}))
		text := codexHead + tt.body
		res := Default().Result(a, text, false)
		got, at := "", len(codexHead)
		for _, s := range res.Sections {
			got += fmt.Sprintf("%s %d %v ", s.Path, s.First, s.Lines)
			if gap := strings.ReplaceAll(text[at:max(at, s.Start)], "---\n", ""); s.Start < at || s.End < s.Start || gap != "" {
				t.Errorf("%s: section at %d-%d, want it to begin at %d", tt.command, s.Start, s.End, at)
			}
			at = s.End
		}
		if a.Op != Read || got != tt.want || len(res.Sections) > 0 && at != len(text) {
			t.Errorf("%s: %q: op %d, got %q, want %q", tt.command, tt.body, a.Op, got, tt.want)
		}
	}
}
