package e2e

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
)

var foldLine = regexp.MustCompile(`\[stet: [0-9,]+ of [0-9,]+ lines left out; run "stet show [0-9a-f]{16} \d+-\d+" to see them\]`)

// Under bold, the long output of a real command is sent without some of its lines. When the model asks, the agent's own shell
// shows these lines, and they are sent whole. The agent keeps the whole output.
func TestFold(t *testing.T) {
	need(t)
	const line = "made part number %d of the garden"
	for _, a := range []agent{codex, opencode("messages", "anthropic", bound), pi("messages", "anthropic", bound)} {
		t.Run(a.name+"/"+a.wire, func(t *testing.T) {
			t.Parallel()
			home, repo := places(t, a)
			write(t, filepath.Join(repo, "Makefile"), "all:\n\t@for i in $$(seq 1 400); do echo "+fmt.Sprintf(strings.Replace(line, "%d", "%s", 1), "$$i")+"; done\n")
			write(t, filepath.Join(repo, "notes.txt"), strings.Repeat("What stands before the report makes the prompt long enough for a cache.\n", 150))
			model, err := llmtest.Start(llmtest.Config{Script: llmtest.Script{Root: repo, Turns: []llmtest.Turn{
				llmtest.Say("I read the notes.", llmtest.Shell("cat notes.txt")),
				llmtest.Say("I make it.", llmtest.Shell("make")),
				llmtest.Say("I look at the rest.", llmtest.Shell(`stet show $(ls -S "`+filepath.Join(home, ".local/state/stet/folds")+`" | head -n 1) 201-300`)),
				llmtest.Say("All is made."),
			}}})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = model.Close() })
			env := append(environment(home), a.configure(t, home, model.URL)...)
			path := "PATH=" + filepath.Dir(os.Getenv(envStet)) + string(filepath.ListSeparator) + os.Getenv("PATH")
			env = append(env, path)
			write(t, filepath.Join(home, ".profile"), "export "+path+"\n") // for login shells
			command := append([]string{os.Getenv(envStet), "wrap", "--policy", "bold", "--"}, a.command(home, prompts[0], false)...)
			exit, said := run(t, repo, env, command)
			if exit != 0 {
				t.Fatalf("exit code %d:\n%s", exit, said)
			}
			turns := outcome{requests: model.Requests()}.turns()
			if len(turns) != 4 {
				t.Fatalf("%d turns", len(turns))
			}
			last := turns[3].Decoded
			made, shown := result(last, 1), result(last, 2)
			if !foldLine.MatchString(made) || strings.Contains(made, fmt.Sprintf(line, 250)+"\n") || !strings.Contains(made, fmt.Sprintf(line, 1)+"\n") {
				t.Errorf("the report: %.300q; stet: %s", made, said)
			}
			for i := 205; i <= 295; i++ {
				if !strings.Contains(shown, fmt.Sprintf(line, i)+"\n") {
					t.Fatalf("line %d is not shown: %.3000q", i, shown)
				}
			}
			if i := slices.IndexFunc(turns, func(r llmtest.Request) bool { return r.Status != 200 }); i >= 0 {
				t.Errorf("turn %d has status %d", i, turns[i].Status)
			}
			if _, marked := occurrences(t, home); len(marked) > 0 {
				t.Errorf("placeholders in the agent's own files: %v", marked)
			}
		})
	}
}
