package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/strictmodel"
)

// programs are extra programs that the tests can run.
var programs = map[string]func(){"stet": main, "agent": agentMain, "ask": askMain, "counter": counterMain, "client": clientMain, "ask-gateway": askGatewayMain, "stubborn": stubbornMain}

func TestMain(m *testing.M) {
	testscript.Main(hearing{m}, programs)
}

// hearing runs the tests with signals enabled.
type hearing struct{ *testing.M }

func (h hearing) Run() int {
	hear()
	return h.M.Run()
}

// hear stops ignoring signals that nohup or a background shell made the test ignore. The programs that the tests start would
// inherit that.
func hear() {
	for _, s := range []os.Signal{os.Interrupt, syscall.SIGHUP, syscall.SIGQUIT} {
		if signal.Ignored(s) {
			signal.Notify(make(chan os.Signal, 1), s)
		}
	}
}

// TestScripts runs the scripts in testdata/script, as people use the command line.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir:           "testdata/script",
		UpdateScripts: os.Getenv("UPDATE") != "",
		Setup: func(e *testscript.Env) error {
			home := filepath.Join(e.WorkDir, ".home")
			e.Setenv("HOME", home)
			e.Setenv("XDG_STATE_HOME", filepath.Join(home, "state"))
			e.Setenv("XDG_CONFIG_HOME", filepath.Join(home, "config"))
			e.Setenv("GORACE", "atexit_sleep_ms=0") // the race detector waits a second at each exit
			return os.MkdirAll(home, 0o700)
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"model": startModel,
			"await": await,
			"perm":  perm,
		},
	})
}

// startModel starts a scripted model and puts its URL into MODEL.
func startModel(ts *testscript.TestScript, _ bool, args []string) {
	m, err := strictmodel.Start(llmtest.Config{Script: twoFiles(ts.ReadFile("a.txt"))})
	ts.Check(err)
	ts.Defer(func() { _ = m.Close() })
	ts.Setenv("MODEL", m.URL)
}

// twoFiles is a script in which a model reads and edits a.txt and b.txt. a is the first one's text.
func twoFiles(a string) llmtest.Script {
	line := ""
	for l := range strings.Lines(a) {
		if s := strings.TrimRight(l, "\r\n"); line == "" && len(strings.TrimSpace(s)) >= 20 && strings.Count(a, s) == 1 {
			line = s
		}
	}
	return llmtest.Script{
		Turns: []llmtest.Turn{
			llmtest.Say("I read the first file.", llmtest.Read("a.txt")),
			llmtest.Say("And the second.", llmtest.Read("b.txt")),
			llmtest.Say("What did the first one say?", llmtest.Read("a.txt")),
			llmtest.Say("I insist: I want to see it again.", llmtest.Read("a.txt")),
			llmtest.Say("Some lines of it.", llmtest.ReadLines("a.txt", 10, 35)),
			llmtest.Say("I mark the line that matters.", llmtest.Edit("a.txt", line, line+" <- this one")),
			llmtest.Say("I check the file after the edit.", llmtest.Read("a.txt")),
			llmtest.Say("And the second one, which has not changed.", llmtest.Read("b.txt")),
		},
		End: "The line is marked.",
	}
}

// await waits until a background command has written a text to a file.
func await(ts *testscript.TestScript, _ bool, args []string) {
	for range 6000 { // a minute
		b, _ := os.ReadFile(ts.MkAbs(args[0]))
		if strings.Contains(string(b), args[1]) {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	ts.Fatalf("%s never held %q", args[0], args[1])
}

// perm compares the permissions of a file.
func perm(ts *testscript.TestScript, _ bool, args []string) {
	info, err := os.Stat(ts.MkAbs(args[1]))
	ts.Check(err)
	if got := fmt.Sprintf("%04o", info.Mode().Perm()); got != args[0] {
		ts.Fatalf("%s has mode %s, want %s", args[1], got, args[0])
	}
}

// agentMain is a small but real agent: it works on the files of its directory with the model at ANTHROPIC_BASE_URL.
func agentMain() {
	root, err := os.OpenRoot(".")
	if err != nil {
		panic(err)
	}
	a := newSmallAgent(os.Getenv("ANTHROPIC_BASE_URL"), root)
	words, err := a.run(context.Background())
	if err != nil {
		fmt.Println("agent:", err)
		os.Exit(9)
	}
	fmt.Println(words)
}

// counterMain is an agent that writes its process id, its parent's, and the received signals to the named file. SIGTERM ends it.
func counterMain() {
	f, err := os.Create(os.Args[1])
	if err != nil {
		panic(err)
	}
	c := make(chan os.Signal, 16)
	signal.Notify(c, os.Interrupt, syscall.SIGTERM)
	fmt.Fprintln(f, os.Getpid(), os.Getppid())
	for s := range c {
		fmt.Fprintln(f, s)
		if s == syscall.SIGTERM {
			return
		}
	}
}

// askMain is a program that an agent leaves running: it asks a model and waits.
func askMain() {
	resp, err := http.Post(os.Args[1]+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","messages":[]}`))
	if err == nil {
		_, _ = resp.Body.Read(make([]byte, 1<<20))
		_ = resp.Body.Close()
	}
}

// stubbornMain is an agent that asks a model for a number of answers. It sends a request again if that fails, as agents do, and
// prints what it received, and how often it had to ask again.
func stubbornMain() {
	answers, _ := strconv.Atoi(os.Args[1])
	retries, base, client := 0, os.Getenv("OPENAI_BASE_URL"), http.DefaultClient
	if bundle, err := os.ReadFile(os.Getenv("NODE_EXTRA_CA_CERTS")); base == "" && err == nil { // it asks the provider's own host through the forward proxy
		pool := x509.NewCertPool()
		pool.AppendCertsFromPEM(bundle)
		base, client = "https://api.openai.com/v1", &http.Client{Transport: &http.Transport{Proxy: http.ProxyFromEnvironment, TLSClientConfig: &tls.Config{RootCAs: pool}}}
	}
	for n := range answers {
		for try := 0; ; try++ {
			resp, err := client.Post(base+"/chat/completions", "application/json", strings.NewReader(`{"model":"m","stream":true,"messages":[{"role":"user","content":"hi"}]}`))
			if err == nil {
				var text []byte
				text, err = io.ReadAll(resp.Body)
				_ = resp.Body.Close()
				if err == nil && resp.StatusCode == http.StatusOK && bytes.Contains(text, []byte("[DONE]")) {
					break
				}
			}
			if retries++; try == 4 {
				fmt.Println("no answer", n, err)
				os.Exit(1)
			}
		}
	}
	fmt.Println("answers", answers, "retries", retries > 0)
}
