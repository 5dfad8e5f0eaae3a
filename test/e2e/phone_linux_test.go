package e2e

import (
	"bufio"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stet-dev/stet/llm/llmtest"
	"github.com/stet-dev/stet/test/freeport"
	"github.com/stet-dev/stet/test/webtest"
)

// A command that real Claude Code wants to run is approved on a phone while its terminal shows the dialog, and the dialog closes. A second one is
// denied with words that the model reads. A third is approved by a button of a message, whose link is the page. Each is also told to the phone's
// browser, whose worker shows it and opens the question. Of the browser only PushManager.subscribe is replaced. (GRD-1)
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
	command := []string{filepath.Join(claudeDir("2.1.332"), "claude"), "--permission-mode", "default", "Water the garden"}
	r := &asking{dialog: "Esc to cancel", guarded: newGuarded(t, claudeInteractive, scripted(
		llmtest.Say("One.", llmtest.Shell("touch one")), llmtest.Say("Two.", llmtest.Shell("touch two")), llmtest.Say("Three.", llmtest.Shell("touch three")),
		llmtest.Say("All done.")))}
	messages := make(chan string, 100)
	ntfy := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, m *http.Request) { messages <- m.Header.Get("Actions") }))
	t.Cleanup(ntfy.Close)
	service := webtest.NewPushService()
	authority := serveTLS(t, t.TempDir(), "8443", service)
	address := freeport.Addresses(t, 1)[0]
	r.guard.end(syscall.SIGTERM)
	r.configure(fmt.Sprintf("[notify]\nntfy = %q\nlink = %q\nactions = true\ncontent = true", ntfy.URL+"/topic", "https://"+address))
	r.start()
	phone, page := r.phone(chromium, address, authority)
	browser, err := json.Marshal(service.Subscribe("phone", "https://"+publicAddress+":8443"))
	if err != nil {
		t.Fatal(err)
	}
	phone("notify this: " + string(browser))
	_, port, _ := strings.Cut(address, ":")
	if info, err := os.Stat(filepath.Join(r.home, ".local/state/stet/push-"+port+".json")); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v, %v", info, err)
	}
	r.approve()
	r.agent = openScreen(t, r.repo, r.env, command)
	for _, q := range []struct{ file, does, shows string }{
		{"one", "approve touch one", "Allowed by PermissionRequest hook"},
		{"two", "reject touch two: ask the gardener first", "Denied by PermissionRequest hook"},
	} {
		r.asks("touch " + q.file)
		opened := pushed(t, service)
		if strings.Contains(opened, q.file) {
			t.Errorf("the message says more than it may: %s", opened)
		}
		phone("shows claude wants to run a command: " + opened)
		phone(q.does)
		r.agent.expect(q.shows)
		r.ends(map[bool]string{true: "approved by ", false: "rejected by "}[q.file == "one"])
		phone("shows No longer open: " + pushed(t, service))
	}
	waits(t, "the model reads the words", func() bool { return r.told("ask the gardener first") })
	r.asks("touch three")
	pushed(t, service)
	phone("stop this")
	presses(t, page, messages)
	r.agent.expect("Allowed by PermissionRequest hook")
	r.ends("a button in a message")
	r.agent.expect("All done.")
	if strings.Contains(r.agent.shows(), r.dialog) || !r.has("one") || r.has("two") {
		t.Error("a dialog is still open, or the answers did not count")
	}
	r.decided("one: approved, by person", "-: rejected, by person", "three: approved, by person")
	if phone("restore claude"); r.has("one") {
		t.Error("one was not taken back")
	}
	if len(service.Messages) > 0 {
		t.Errorf("a message came after the end: %+v", <-service.Messages)
	}
}

// pushed waits for a message to the browser, and returns its text.
func pushed(t *testing.T, service *webtest.PushService) string {
	t.Helper()
	select {
	case m := <-service.Messages:
		if m.Err != nil {
			t.Fatal(m.Err)
		}
		return m.Text
	case <-time.After(patience):
		t.Fatal("no message came")
		return ""
	}
}

// presses waits for the message about the third question, and presses its first button as the app does, twice: the second has no effect.
func presses(t *testing.T, page *http.Client, messages <-chan string) {
	t.Helper()
	var buttons []struct{ URL, Method, Body string }
	for asked := 0; asked < 3; {
		if actions := <-messages; actions != "" { // otherwise it says how a question ended
			asked++
			if err := json.Unmarshal([]byte(actions), &buttons); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, want := range []int{http.StatusOK, http.StatusConflict} {
		m, err := http.NewRequestWithContext(t.Context(), buttons[0].Method, buttons[0].URL, strings.NewReader(buttons[0].Body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := page.Do(m)
		if err != nil {
			t.Fatal(err)
		}
		_ = got.Body.Close()
		if got.StatusCode != want {
			t.Errorf("a button: %s", got.Status)
		}
	}
}

// phone opens the page of stet serve in a browser as small as a phone. The function that it returns has the person there do something; the client
// trusts the page's certificate. authority is the file of the authority that stet serve trusts.
func (r *asking) phone(chromium, address, authority string) (func(does string), *http.Client) {
	r.t.Helper()
	cert, file := certificate(r.t, r.home, []string{"localhost"}, net.ParseIP("127.0.0.1"))
	key, err := x509.MarshalPKCS8PrivateKey(cert.PrivateKey)
	if err != nil {
		r.t.Fatal(err)
	}
	write(r.t, filepath.Join(r.home, "cert.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: cert.Certificate[0]})))
	write(r.t, filepath.Join(r.home, "key.pem"), string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: key})))
	trusted := x509.NewCertPool()
	trusted.AppendCertsFromPEM([]byte(read(r.t, r.home, filepath.Base(file))))
	serve := openScreen(r.t, r.home, append(slices.Clone(r.env), "SSL_CERT_FILE="+authority), []string{
		os.Getenv(envStet), "serve", "--no-workspace", "--listen", address, "--tls-cert", "cert.pem", "--tls-key", "key.pem"})
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
	does := func(does string) {
		r.t.Helper()
		if _, err := io.WriteString(in, does+"\n"); err != nil {
			r.t.Fatal(err)
		}
		says("done")
	}
	return does, &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: trusted}}}
}
