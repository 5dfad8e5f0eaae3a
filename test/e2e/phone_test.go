package e2e

import (
	"bufio"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
)

// A command that real Claude Code wants to run is approved on a phone while its terminal shows the dialog, and the dialog closes. A second one is
// denied with words that the model reads. (GRD-1)
func TestAskPhone(t *testing.T) {
	need(t)
	chromium := ""
	for _, name := range []string{os.Getenv("STET_CHROMIUM"), "chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil && chromium == "" {
			chromium = path
		}
	}
	if chromium == "" || os.Getenv(envWeb) == "" {
		t.Skip("chromium or playwright-core is not installed")
	}
	t.Parallel()
	command := []string{filepath.Join(claudeDir("2.1.332"), "claude"), "--permission-mode", "default", "Water the garden"}
	r := newAsking(t, claudeInteractive, "Esc to cancel", command,
		llmtest.Say("One.", llmtest.Shell("touch one")), llmtest.Say("Two.", llmtest.Shell("touch two")), llmtest.Say("All done."))
	phone := r.phone(chromium)
	for _, q := range []struct{ file, does, shows string }{
		{"one", "approve touch one", "Allowed by PermissionRequest hook"},
		{"two", "reject touch two: ask the gardener first", "Denied by PermissionRequest hook"},
	} {
		r.asks("touch " + q.file)
		phone(q.does)
		r.agent.expect(q.shows)
		r.ends(map[bool]string{true: "approved by ", false: "rejected by "}[q.file == "one"])
	}
	waits(t, "the model reads the words", func() bool { return r.told("ask the gardener first") })
	r.agent.expect("All done.")
	if strings.Contains(r.agent.shows(), r.dialog) || !r.has("one") || r.has("two") {
		t.Error("a dialog is still open, or the answers did not count")
	}
	r.decided("one: approved, by person", "-: rejected, by person")
	if phone("restore claude"); r.has("one") {
		t.Error("one was not taken back")
	}
}

// phone opens the page of stet serve in a browser as small as a phone. The function that it returns has the person there do something.
func (r *asking) phone(chromium string) func(does string) {
	r.t.Helper()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		r.t.Fatal(err)
	}
	address := free.Addr().String()
	_ = free.Close()
	serve := openScreen(r.t, r.home, r.env, []string{os.Getenv(envStet), "serve", "--no-workspace", "--listen", address})
	serve.expect("#token=")
	link := regexp.MustCompile(`http\S+#token=\S+`).FindString(serve.shows())
	cmd := exec.Command("node", "phone.mjs", chromium, link)
	cmd.Env = append(os.Environ(), "HOME="+r.home)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		r.t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			r.t.Error("the phone: ", err)
		}
	})
	said := bufio.NewScanner(out)
	says := func(want string) {
		r.t.Helper()
		if !said.Scan() || said.Text() != want {
			r.t.Fatalf("the phone says %q, want %q", said.Text(), want)
		}
	}
	says("open")
	return func(does string) {
		r.t.Helper()
		if _, err := io.WriteString(in, does+"\n"); err != nil {
			r.t.Fatal(err)
		}
		says("done")
	}
}
