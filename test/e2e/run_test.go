package e2e

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// The workspace has one file that is long enough to be replaced by a placeholder, and a small one.
const (
	bedsFile = "garden/beds.py"
	oldLevel = "WATER_LEVEL = 5"
	newLevel = "WATER_LEVEL = 8"
)

func bedsText() string {
	var b strings.Builder
	b.WriteString("\"\"\"The beds of the garden.\"\"\"\n\n" + oldLevel + "\n\n")
	for i := range 60 {
		fmt.Fprintf(&b, "def bed_%02d():\n    return Bed(\"row %02d\", plants=%d, litres=%d)\n\n", i, i, i*7%13, i*5%11)
	}
	return b.String()
}

// marker is a line of the file that occurs only there, and is the same in every quoting.
const marker = "def bed_41():"

// The two prompts of a session. The second one goes to a new process of the agent, which continues the conversation.
var prompts = []string{
	"Review " + bedsFile + ", raise the watering level, and write NOTES.md.",
	"Look at the beds once more.",
}

// Numbers of turns of the script that tests use.
const (
	turnFirst   = 0 // the file is read
	turnAgain   = 1 // the file is read again
	turnInsists = 2 // the file is read again, directly after the placeholder
	turnRange   = 3 // a part of the file is read
	turnLast    = 9 // the whole file is read for the second prompt
)

// script returns the session, which is the same for every agent. The model thinks before each answer.
func script(root string) llmtest.Script {
	s := llmtest.Script{Root: root, Turns: []llmtest.Turn{
		llmtest.Say("I read the file.", llmtest.Read(bedsFile)),
		llmtest.Say("I read it again, unchanged.", llmtest.Read(bedsFile)),
		llmtest.Say("I insist on its text.", llmtest.Read(bedsFile)),
		llmtest.Say("I read a range of it.", llmtest.ReadLines(bedsFile, 110, 150)),
		llmtest.Say("I raise the level.", llmtest.Edit(bedsFile, oldLevel, newLevel)),
		llmtest.Say("I read it after the edit.", llmtest.Read(bedsFile)),
		llmtest.Say("I write the notes.", llmtest.Write("NOTES.md", "# Notes\n\nThe level is 8 now.\n")),
		llmtest.Say("I look at the whole.", llmtest.Shell("git status --short")),
		llmtest.Say("The watering level is 8 now."),
		llmtest.Say("I read it once more.", llmtest.Read(bedsFile)),
		llmtest.Say("All is well."),
	}}
	for i := range s.Turns {
		s.Turns[i].Thinking = fmt.Sprintf("This is step %d.", i)
	}
	return s
}

// outcome is the result of a session.
type outcome struct {
	exit     []int // of each prompt
	diff     string
	requests []llmtest.Request // as the model received them
	home     string
	output   string
	took     time.Duration
}

// turns returns the requests that the script answered, without other requests of the agent.
func (o outcome) turns() []llmtest.Request {
	var out []llmtest.Request
	for _, r := range o.requests {
		if r.Step >= 0 && !r.Side {
			out = append(out, r)
		}
	}
	return out
}

// thinking counts the blocks of thinking in the agent's last turn.
func (o outcome) thinking() int {
	turns := o.turns()
	if len(turns) == 0 {
		return 0
	}
	return bytes.Count(turns[len(turns)-1].Body, []byte(`"type":"thinking"`))
}

// refused counts the requests that the model refused.
func (o outcome) refused() (n int) {
	for _, r := range o.requests {
		if r.Status == 400 {
			n++
		}
	}
	return n
}

// session runs the agent with one prompt after another, in a home and a workspace of its own. The model's first answers fail as
// faults say.
func session(t *testing.T, a agent, through route, faults ...llmtest.Fault) outcome {
	t.Helper()
	return sessionOf(t, a, strictmodel.NewAccount, through, nil, faults...)
}

// straights and wraps have the sessions that several tests compare with, by agent and format: an agent of several seconds of
// processor time a start runs them once.
var straights, wraps sync.Map

// straight returns the agent's session directly with the model.
func straight(t *testing.T, a agent) outcome { return shared(t, &straights, a, direct) }

// wrapped returns the agent's session under "stet wrap".
func wrapped(t *testing.T, a agent) outcome { return shared(t, &wraps, a, wrap) }

// shared returns the session of sessions, or runs it there.
func shared(t *testing.T, sessions *sync.Map, a agent, through route) outcome {
	t.Helper()
	type entry struct {
		sync.Mutex
		*outcome
	}
	found, _ := sessions.LoadOrStore(a.name+" "+a.wire, &entry{})
	e := found.(*entry)
	e.Lock()
	defer e.Unlock()
	if e.outcome == nil { // a session that failed is run again, by the next test
		o := session(t, a, through)
		e.outcome = &o
	}
	return *e.outcome
}

// sessionOf is session with a given kind of account. Before each prompt except the first it calls between, which may be nil.
func sessionOf(t *testing.T, a agent, account strictmodel.Account, through route, between func(), faults ...llmtest.Fault) outcome {
	t.Helper()
	home, repo := places(t, a)
	model, err := strictmodel.Start(llmtest.Config{Script: script(repo), Rules: &strictmodel.Rules{Account: account}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = model.Close() })
	model.Fail(faults...)
	base, before := through(t, home, model.URL)
	env := append(environment(home), a.configure(t, home, base)...)

	out := outcome{home: home}
	started := time.Now()
	for i, prompt := range prompts {
		command := a.command(home, prompt, i > 0)
		if command == nil {
			break
		}
		if i > 0 && between != nil {
			between()
		}
		exit, said := run(t, repo, env, append(slices.Clone(before), command...))
		out.exit = append(out.exit, exit)
		out.output += said
	}
	out.took = time.Since(started)
	out.requests = model.Requests()
	git(t, repo, "add", "-A")
	out.diff = git(t, repo, "diff", "--cached")
	t.Logf("%s on %s: %d requests, exit codes %v, %d blocks of thinking in the last, %d refused, %.1f s",
		a.name, a.wire, len(out.requests), out.exit, out.thinking(), out.refused(), out.took.Seconds())
	return out
}

// places makes a home and a workspace for a run of the agent. They stay until all tests have passed.
func places(t *testing.T, a agent) (home, repo string) {
	t.Helper()
	dir, err := os.MkdirTemp(os.Getenv(envRuns), a.name+"-"+a.wire+"-")
	if err != nil {
		t.Fatal(err)
	}
	made.Lock()
	made.dirs = append(made.dirs, dir)
	made.Unlock()
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("what the agent left is in %s", dir)
		}
	})
	home, repo = filepath.Join(dir, "home"), filepath.Join(dir, "project")
	workspace(t, repo)
	return home, repo
}

// run runs a command to its end, and ends everything that the command started.
func run(t *testing.T, dir string, env, args []string) (exit int, output string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, args[0], args[1:]...)
	cmd.Dir, cmd.Env = dir, env
	group(cmd)
	cmd.WaitDelay = 5 * time.Second
	var said bytes.Buffer
	cmd.Stdout, cmd.Stderr = &said, &said
	err := cmd.Run()
	var failed *exec.ExitError
	if err != nil && !errors.As(err, &failed) {
		t.Fatalf("run %s: %v\n%s", args[0], err, said.String())
	}
	return cmd.ProcessState.ExitCode(), said.String()
}

// environment returns the whole environment of an agent.
func environment(home string) []string {
	return []string{
		"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "LANG=C.UTF-8", "CI=1", "NO_COLOR=1",
		"XDG_CONFIG_HOME=" + filepath.Join(home, ".config"), "XDG_DATA_HOME=" + filepath.Join(home, ".local/share"),
		"XDG_STATE_HOME=" + filepath.Join(home, ".local/state"), "XDG_CACHE_HOME=" + filepath.Join(home, ".cache"),
	}
}

func workspace(t *testing.T, repo string) {
	t.Helper()
	write(t, filepath.Join(repo, bedsFile), bedsText())
	write(t, filepath.Join(repo, "README.md"), "# Garden\n\nA plan of the beds.\n")
	git(t, repo, "init", "-q")
	git(t, repo, "add", "-A")
	git(t, repo, "-c", "user.name=tester", "-c", "user.email=tester@example.org", "commit", "-qm", "the garden")
}

func git(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.Command("git", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %s: %v", strings.Join(args, " "), err)
	}
	return string(out)
}
