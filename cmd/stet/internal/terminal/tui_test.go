package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/stet-dev/stet/agent"
	"github.com/stet-dev/stet/cmd/stet/internal/terminal"
	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/server/web"
	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/tool"
)

func TestMain(m *testing.M) {
	if what := os.Getenv("STET_TEST_PANIC"); what != "" {
		panicOnTerminal(what)
	}
	goleak.VerifyTestMain(m, // its timers end later
		goleak.IgnoreAnyFunction("charm.land/bubbletea/v2.Tick.func1"), goleak.IgnoreAnyFunction("charm.land/bubbletea/v2.(*Program).execBatchMsg"),
		goleak.IgnoreAnyFunction("charm.land/bubbletea/v2.(*Program).execBatchMsg.func2"), goleak.IgnoreAnyFunction("charm.land/bubbletea/v2.(*Program).handleCommands.func1.1"))
}

// panickingSource is a source with one question. Its next call panics.
type panickingSource struct {
	terminal.Source
	asked bool
	then  <-chan struct{}
}

func (f *panickingSource) Next(context.Context) (approval.Event, error) {
	if f.asked {
		<-f.then
		panic("the source")
	}
	f.asked = true
	q := question()
	q.ID = "1"
	return approval.Event{Opened: &q}, nil
}

// emptyTalk is a conversation without messages.
type emptyTalk struct{ terminal.Talk }

func (emptyTalk) ID() string           { return "" }
func (emptyTalk) State() session.State { return session.State{} }
func (emptyTalk) Fill() agent.Fill     { return agent.Fill{} }
func (emptyTalk) Spent() agent.Spent   { return agent.Spent{} }

// panicOnTerminal asks a question on the terminal that is the standard input and output. It panics when file 3 has input.
func panicOnTerminal(what string) {
	then := make(chan struct{})
	go func() {
		_, _ = os.NewFile(3, "then").Read(make([]byte, 1))
		close(then)
	}()
	if what == "chat" {
		c := &terminal.Chat{In: os.Stdin, Out: os.Stdout, Env: []string{"TERM=xterm"}, Talk: emptyTalk{}, Questions: &panickingSource{then: then}}
		_ = c.Run(context.Background())
		os.Exit(0)
	}
	d := &terminal.Dialog{In: os.Stdin, Out: os.Stdout, Env: []string{"TERM=xterm"}}
	_ = d.Approve(context.Background(), &panickingSource{then: then})
	os.Exit(0)
}

// person is a person at a terminal, who reads its output and types.
type person struct {
	t      *testing.T
	dialog *terminal.Dialog
	keys   io.WriteCloser
	done   chan error

	mu     sync.Mutex
	screen strings.Builder
	seen   int
	more   chan struct{}
}

func (p *person) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.screen.Write(b)
	select {
	case p.more <- struct{}{}:
	default:
	}
	return len(b), nil
}

// expect waits for the text after the last expected text, and returns what is between them.
func (p *person) expect(text string) string {
	p.t.Helper()
	timeout := time.After(time.Minute)
	for {
		p.mu.Lock()
		rest := p.screen.String()[p.seen:]
		if i := strings.Index(rest, text); i >= 0 {
			p.seen += i + len(text)
			p.mu.Unlock()
			return rest[:i]
		}
		p.mu.Unlock()
		select {
		case <-p.more:
		case <-timeout:
			p.t.Fatalf("no %q on the screen:\n%s", text, rest)
		}
	}
}

func (p *person) types(line string) {
	p.t.Helper()
	if _, err := io.WriteString(p.keys, line+"\n"); err != nil {
		p.t.Fatal(err)
	}
}

// startPerson starts to answer the questions of q.
func startPerson(t *testing.T, q *approval.Queue, change func(*terminal.Dialog)) *person {
	t.Helper()
	sub := q.Subscribe()
	t.Cleanup(func() { sub.Close() })
	return sitAt(t, sub, change)
}

func sitAt(t *testing.T, src terminal.Source, change func(*terminal.Dialog)) *person {
	t.Helper()
	in, keys, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p := &person{t: t, keys: keys, done: make(chan error, 1), more: make(chan struct{}, 1)}
	p.dialog = &terminal.Dialog{In: in, Out: p}
	if change != nil {
		change(p.dialog)
	}
	ctx, cancel := context.WithCancel(context.Background())
	go func() { p.done <- p.dialog.Approve(ctx, src) }()
	t.Cleanup(func() {
		cancel()
		<-p.done
		keys.Close()
		in.Close()
	})
	return p
}

type asked struct {
	a    approval.Answer
	err  error
	done chan struct{}
}

func ask(ctx context.Context, q *approval.Queue, question approval.Question) *asked {
	a := &asked{done: make(chan struct{})}
	go func() {
		defer close(a.done)
		a.a, a.err = q.Ask(ctx, question)
	}()
	return a
}

func (a *asked) wait(t *testing.T) approval.Answer {
	t.Helper()
	select {
	case <-a.done:
	case <-time.After(time.Minute):
		t.Fatal("no answer")
	}
	if a.err != nil {
		t.Fatal(a.err)
	}
	return a.a
}

func question() approval.Question {
	return approval.Question{
		Session: "s1", Client: "some-agent", Tool: "edit_file", Path: "src/a.go", Write: true, Before: "x", After: "y", Size: 1234,
		Diff:    tool.ParseDiff("--- a/src/a.go\n+++ b/src/a.go\n@@ -1,2 +1,2 @@\n same\n-old\n+new\x1b[2J\u202e\n"),
		Content: []byte("same\nnew\n"), Editable: true, Why: "default", Grantable: true, Seal: "the seal",
	}
}

// FILE-6: the dialog shows path, size and diff, and accepts every kind of answer.
func TestDialog(t *testing.T) {
	for _, test := range []struct {
		keys []string
		want approval.Answer
	}{
		{[]string{"a"}, approval.Answer{Verdict: approval.Approve}},
		{[]string{"A "}, approval.Answer{Verdict: approval.Approve}},
		{[]string{"", "yes", "v", "approve"}, approval.Answer{Verdict: approval.Approve}},
		{[]string{"s"}, approval.Answer{Verdict: approval.ForSession}},
		{[]string{"p", ""}, approval.Answer{Verdict: approval.ForPattern, Pattern: "src/**"}},
		{[]string{"p", "*.go"}, approval.Answer{Verdict: approval.ForPattern, Pattern: "*.go"}},
		{[]string{"p", "*.txt", "p", "[", "p", "**"}, approval.Answer{Verdict: approval.ForPattern, Pattern: "**"}},
		{[]string{"r", "use tabs "}, approval.Answer{Verdict: approval.Reject, Words: "use tabs"}},
		{[]string{"reject", ""}, approval.Answer{Verdict: approval.Reject}},
		{[]string{"c"}, approval.Answer{Verdict: approval.Cancel}},
		{[]string{"n", "a"}, approval.Answer{Verdict: approval.Approve}},
	} {
		t.Run(strings.Join(test.keys, ","), func(t *testing.T) {
			var q approval.Queue
			p := startPerson(t, &q, nil)
			a := ask(t.Context(), &q, question())
			text := p.expect(" >")
			for _, want := range []string{
				"edit_file wants to write src/a.go (1234 bytes)", "some-agent, session s1", "-old", `+new<\x1b>[2J<\u202e>`,
				"[a]pprove [s]ession [p]attern [r]eject [c]ancel",
			} {
				if !strings.Contains(text, want) {
					t.Errorf("%q is not shown:\n%s", want, text)
				}
			}
			for _, r := range text {
				if r == 0x1b || r == 0x202e {
					t.Errorf("the agent's %q reaches the terminal", r)
				}
			}
			for i, key := range test.keys {
				p.types(key)
				switch {
				case i == len(test.keys)-1:
				case key == "p":
					p.expect("pattern (Enter: ")
				case key == "r" || key == "reject":
					p.expect("agent? ")
				default:
					p.expect(" >")
				}
			}
			got := a.wait(t)
			if want := test.want; got.Verdict != want.Verdict || got.Pattern != want.Pattern || got.Words != want.Words || got.Seal == "" && got.Approves() {
				t.Errorf("answer %+v, want %+v", got, want)
			}
		})
	}
}

// FILE-6: the person edits the content before approving it.
func TestEditor(t *testing.T) {
	script := filepath.Join(t.TempDir(), "editor")
	if err := os.WriteFile(script, []byte("#!/bin/sh\ncase $2 in */a.go) ;; *) exit 3;; esac\nstat -c %a \"$2\"\n[ $1 = more ] && echo more >> \"$2\"\n[ $1 = fail ] && exit 1\nexit 0\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	with := func(arg string) func(*terminal.Dialog) {
		return func(d *terminal.Dialog) { d.Editor = script + " " + arg }
	}
	var q approval.Queue
	p := startPerson(t, &q, with("more"))
	a := ask(t.Context(), &q, question())
	p.expect("[e]dit")
	p.types("e")
	p.expect("600\n")
	p.expect("write these 14 bytes to src/a.go? (y/N)")
	p.types("n")
	p.expect(" >")
	p.types("e")
	p.expect("(y/N)")
	p.types("y")
	if got := a.wait(t); got.Verdict != approval.Edit || string(got.Content) != "same\nnew\nmore\n" {
		t.Errorf("%+v", got)
	}
	for arg, says := range map[string]string{"none": "nothing was changed", "fail": "exit status 1"} {
		p := startPerson(t, &q, with(arg))
		ctx, cancel := context.WithCancel(t.Context())
		a := ask(ctx, &q, question())
		p.expect(" >")
		p.types("e")
		p.expect(says)
		p.expect(" >")
		cancel()
		<-a.done
		p.expect("no longer open: edit_file src/a.go: withdrawn")
		p.types("")
		p.expect("waiting")
	}
}

// Answers that are not possible for a question are not offered and not accepted.
func TestNarrow(t *testing.T) {
	var q approval.Queue
	p := startPerson(t, &q, func(d *terminal.Dialog) { d.Editor = "false" })
	narrow := question()
	narrow.Grantable, narrow.Editable, narrow.Why, narrow.Notes, narrow.Path = false, false, "control file", []tool.Note{tool.Control, "odd"}, "my hooks/.envrc"
	narrow.Again, narrow.Before = 1, ""
	a := ask(t.Context(), &q, narrow)
	text := p.expect(" >")
	for _, want := range []string{`"my hooks/.envrc"`, "a new file", "asked because of: control file", "! this file makes something run", "! odd", "! asked again (1)"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not shown:\n%s", want, text)
		}
	}
	if strings.Contains(text, "[s]ession") || strings.Contains(text, "[e]dit") {
		t.Errorf("too much is offered:\n%s", text)
	}
	for _, key := range []string{"s", "p", "e"} {
		p.types(key)
		p.expect("this ca")
		p.expect(" >")
	}
	p.types("a")
	if got := a.wait(t); got.Verdict != approval.Approve {
		t.Errorf("%+v", got)
	}
}

// When another person answers a question, it leaves the screen. What was being typed does not answer the next question.
func TestAnsweredElsewhere(t *testing.T) {
	var q approval.Queue
	p := startPerson(t, &q, nil)
	first := ask(t.Context(), &q, question())
	p.expect(" >")
	second := question()
	second.Path, second.Seal = "other.go", "another seal"
	next := ask(t.Context(), &q, second)
	if err := q.Answer(q.Open()[0].ID, approval.Answer{Verdict: approval.Reject, By: "lab"}); err != nil {
		t.Fatal(err)
	}
	first.wait(t)
	p.expect("no longer open: edit_file src/a.go: rejected by lab")
	p.types("a") // meant for the first question
	p.expect("write other.go")
	p.expect(" >")
	select {
	case <-next.done:
		t.Fatalf("the second was answered: %+v", next.a)
	default:
	}
	p.types("a")
	next.wait(t)
}

// FILE-6: questions that an answer for the session covers are not shown.
func TestCoveredIsNotShown(t *testing.T) {
	var q approval.Queue
	var all []*asked
	for i, path := range []string{"one.go", "two.go", "three.go", ".envrc"} {
		one := question()
		one.Path, one.Seal, one.Grantable = path, path, path != ".envrc"
		all = append(all, ask(t.Context(), &q, one))
		for len(q.Open()) <= i {
			runtime.Gosched()
		}
	}
	p := startPerson(t, &q, nil)
	p.expect("write one.go")
	p.expect(" >")
	p.types("s")
	if text := p.expect("write .envrc"); !strings.Contains(text, "approved for the session") || !strings.Contains(text, "2 more") ||
		strings.Contains(text, "two.go") {
		t.Errorf("shown:\n%s", text)
	}
	p.expect(" >")
	p.types("r")
	p.expect("Enter: none")
	p.types("")
	for i, a := range all {
		want := approval.ForSession
		if i == 3 {
			want = approval.Reject
		}
		if got := a.wait(t); got.Verdict != want {
			t.Errorf("%d: %+v", i, got)
		}
	}
}

func TestLongDiff(t *testing.T) {
	var q approval.Queue
	p := startPerson(t, &q, nil)
	long := question()
	lines := long.Diff.Text() + "+" + strings.Repeat("y", 1000) + "\n"
	for i := range 120 {
		lines += fmt.Sprintf("+line %d %s\n", i, strings.Repeat("x", 500))
	}
	long.Diff = tool.ParseDiff(lines)
	a := ask(t.Context(), &q, long)
	text := p.expect(" >")
	if !strings.Contains(text, "27 more lines") || !strings.Contains(text, "10728 bytes of long lines") || strings.Contains(text, "line 110") {
		t.Errorf("shown:\n%s", text)
	}
	// A change that was not shown completely is not approved by a key. (FILE-6)
	for _, word := range []string{"", "y", "a"} {
		p.types("a")
		p.expect("Not shown: 27 more lines, 10728 bytes of long lines. Type yes")
		p.types(word)
		p.expect("not approved")
		p.expect(" >")
	}
	p.types("s")
	p.expect("Type yes")
	p.types("no")
	p.expect(" >")
	p.types("v")
	if text := p.expect(" >"); !strings.Contains(text, "line 119 "+strings.Repeat("x", 500)) {
		t.Errorf("shown:\n%s", text)
	}
	p.types("a") // the change was shown
	if got := a.wait(t); got.Verdict != approval.Approve {
		t.Errorf("%+v", got)
	}
}

// A change that cannot be shown is approved only by a typed word. The word is enough.
func TestTooLargeToShow(t *testing.T) {
	var q approval.Queue
	p := startPerson(t, &q, nil)
	large := question()
	large.Diff, large.Notes = tool.Diff{}, []tool.Note{tool.Large}
	a := ask(t.Context(), &q, large)
	p.expect("too large to be shown whole")
	p.expect(" >")
	for _, keys := range []string{"a", "v"} {
		p.types(keys)
		if keys == "a" {
			p.expect("Not shown: what is too large to be shown. Type yes")
			p.types("y")
		}
		p.expect(" >")
	}
	p.types("p")
	p.expect("pattern")
	p.types("src/*")
	p.expect("Type yes")
	p.types("Yes")
	if got := a.wait(t); got.Verdict != approval.ForPattern || got.Seal == "" {
		t.Errorf("%+v", got)
	}
}

// Answers from a pipe are used in their order, even if they arrive before the questions. After the last one, the dialog
// ends.
func TestPipedAnswers(t *testing.T) {
	for _, test := range []struct {
		piped            string
		questions, taken int
		want             error
	}{
		{"a\nr\nno\n", 2, 2, nil},
		{"a\n", 2, 1, nil},
		{"a\n\n \n", 1, 1, nil},
		{"", 1, 0, io.EOF},
		{"", 0, 0, io.EOF},
	} {
		var q approval.Queue
		ctx, cancel := context.WithCancel(t.Context())
		p := startPerson(t, &q, nil)
		p.expect("waiting for questions")
		if _, err := io.WriteString(p.keys, test.piped); err != nil {
			t.Fatal(err)
		}
		if test.piped != "" {
			p.keys.Close()
		}
		var all []*asked
		for i := range test.questions {
			all = append(all, ask(ctx, &q, question()))
			if i < test.taken {
				all[i].wait(t)
			}
		}
		p.keys.Close()
		if test.want == nil { // else the caller says it
			p.expect("the input has ended")
		}
		if err := <-p.done; err != test.want {
			t.Errorf("%q for %d: %v", test.piped, test.questions, err)
		}
		p.done <- nil
		cancel()
		for i, a := range all {
			<-a.done
			if answered := a.err == nil; answered != (i < test.taken) {
				t.Errorf("%q: question %d: %v", test.piped, i, a.err)
			}
		}
	}
}

// From another terminal: over the socket, with the content.
func TestOverSocket(t *testing.T) {
	var q approval.Queue
	const path = "s" // the address of a socket must be short
	t.Chdir(t.TempDir())
	ln, err := net.Listen("unix", path)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	served := make(chan error)
	go func() { served <- (&web.Handler{Queue: &q}).ServeLocal(ctx, ln) }()
	t.Cleanup(func() {
		cancel()
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
	client, err := web.NewClient(t.Context(), func(context.Context) (net.Conn, error) { return net.Dial("unix", path) })
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	p := sitAt(t, client, func(d *terminal.Dialog) { d.Editor = "printf more >>" })
	a := ask(t.Context(), &q, question())
	p.expect("write src/a.go")
	p.types("e")
	p.expect("(y/N)")
	p.types("y")
	if got := a.wait(t); got.Verdict != approval.Edit || string(got.Content) != "same\nnew\nmore" || got.By != approval.LocalPerson() {
		t.Errorf("%+v", got)
	}
	p.expect("edited and approved")
	p.expect("waiting")
}

// The person quits. The questions stay open for others.
func TestQuit(t *testing.T) {
	for _, leave := range []struct {
		how  func(p *person)
		want error
	}{
		{func(p *person) { p.types("q") }, nil},
		{func(p *person) { p.keys.Close() }, io.EOF},
	} {
		var q approval.Queue
		p := startPerson(t, &q, nil)
		ctx, cancel := context.WithCancel(t.Context())
		a := ask(ctx, &q, question())
		p.expect(" >")
		leave.how(p)
		if err := <-p.done; err != leave.want {
			t.Error(err)
		}
		p.done <- nil
		if len(q.Open()) != 1 {
			t.Error("the question is gone")
		}
		cancel()
		<-a.done
	}
}

func TestSourceEnds(t *testing.T) {
	var q approval.Queue
	sub := q.Subscribe()
	in, keys := io.Pipe() // its reads cannot be stopped
	defer keys.Close()
	p := &person{t: t, keys: keys, more: make(chan struct{}, 1)}
	d := &terminal.Dialog{In: in, Out: p}
	done := make(chan error)
	go func() { done <- d.Approve(t.Context(), sub) }()
	ctx, cancel := context.WithCancel(t.Context())
	a := ask(ctx, &q, question())
	p.expect(" >")
	sub.Close()
	if err := <-done; !errors.Is(err, approval.ErrClosed) {
		t.Errorf("%v", err)
	}
	cancel()
	<-a.done
}

// The choices are explained. A person can choose which open question comes first.
func TestListAndHelp(t *testing.T) {
	var q approval.Queue
	p := startPerson(t, &q, nil)
	other := question()
	other.Path = "src/\x1b[2Jother.go"
	a := ask(t.Context(), &q, question())
	p.expect(" >")
	b := ask(t.Context(), &q, other)
	p.types("x")
	p.expect("? explains them")
	p.expect(" >")
	p.types("?")
	if said := p.expect(" >"); !strings.Contains(said, "p  approve all writes of this session to paths like this") || strings.Contains(said, "e  change") {
		t.Errorf("%q", said)
	}
	for said := ""; !strings.Contains(said, "  2  edit_file wants to write"); { // the event of the second question arrives later
		p.types("l")
		if said = p.expect("number (Enter: 1) "); strings.Contains(said, "\x1b[2J") {
			t.Errorf("%q", said)
		}
		p.types("")
		p.expect(" >")
	}
	p.types("l")
	p.expect("number (Enter: 1) ")
	p.types("2")
	p.expect("other.go")
	p.expect(" >")
	p.types("a")
	if got := b.wait(t); got.Verdict != approval.Approve {
		t.Errorf("%+v", got)
	}
	p.expect(" >")
	p.types("r")
	p.expect("Enter: none")
	p.types("")
	if got := a.wait(t); got.Verdict != approval.Reject {
		t.Errorf("%+v", got)
	}
}
