package e2e

import (
	"archive/zip"
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// connected runs the agent, configured for its provider's own host, under "stet wrap" with the forward proxy.
func connected(a agent) route {
	if strings.HasPrefix(a.name, "codex-login") { // stet asks chatgpt.com too
		return wrapWith("--via", "connect")
	}
	return func(_ *testing.T, _, model string) (string, []string) {
		return providerHosts[a.wire], []string{os.Getenv(envStet), "wrap", "--via", "connect", "--upstream", model, "--"}
	}
}

// connectAgents are the agents of npm, each with the clients that it has.
var connectAgents = []agent{
	claudeCode("2.1.332"), codex, soaking(codexSocket), soaking(codexLogin(false)), codexLogin(true), opencode("messages", "anthropic", bound), soaking(opencode("responses", "openai", "gpt-5.5")), qwen("chat", "openai"),
	pi("messages", "anthropic", bound), gemini, soaking(cline("messages", "anthropic", "claude-sonnet-4-5")), soaking(continueCLI("messages", "anthropic", bound)),
	soaking(continueCLI("responses", "openai", "gpt-5")), soaking(copilot("1.0.102")),
}

// TestConnect runs the same session of each agent directly, at a base URL and through the forward proxy. Turns, exit codes and changes are the
// same, and both ways leave out the same (SAME-2, SAME-3).
func TestConnect(t *testing.T) {
	need(t)
	for _, a := range connectAgents {
		t.Run(a.name+"/"+a.wire, func(t *testing.T) {
			if a.soak && os.Getenv("STET_SOAK") == "" && os.Getenv("STET_AGENTS") != "all" {
				t.Skip("with STET_SOAK=1 or make agents ALL=1 alone")
			}
			if a.name == "copilot" && os.Getenv("STET_AGENTS") != "all" {
				t.Skip("make agents ALL=1 installs it")
			}
			t.Parallel()
			straight := straight(t, a)
			if len(straight.turns()) == 0 || straight.exit[0] != 0 {
				t.Fatalf("exit codes %v: %s", straight.exit, straight.output)
			}
			at, through := wrapped(t, a), session(t, a, connected(a))
			for name, o := range map[string]outcome{"base URL": at, "forward proxy": through} {
				t.Log(name)
				same(t, straight, o)
				placeholders(t, straight, o)
				stored(t, straight, o)
			}
			if a, b := marks(at), marks(through); !slices.Equal(a, b) {
				t.Errorf("left out at a base URL %v, through the forward proxy %v", a, b)
			}
			for _, r := range through.turns() {
				if r.Socket != strings.HasSuffix(a.name, "-socket") {
					t.Errorf("turn %d: socket %t", r.Step, r.Socket)
				}
			}
		})
	}
}

// TestSetupForward runs a session of Claude Code that "stet setup --proxy" has sent through the forward proxy of a "stet proxy": it is as
// without stet. (SAME-1)
func TestSetupForward(t *testing.T) {
	need(t)
	a := claudeCode("2.1.332")
	straight := straight(t, a)
	o := session(t, a, func(t *testing.T, home, model string) (string, []string) {
		at := strings.TrimPrefix(startProxy(t, home, "--upstream", model), "http://")
		exit, said := run(t, t.TempDir(), append(environment(home), "STET_LISTEN="+at), []string{os.Getenv(envStet), "setup", "--proxy", "claude", "--force"})
		if exit != 0 || !strings.Contains(said, "env.HTTPS_PROXY") {
			t.Fatalf("%d %s", exit, said)
		}
		return providerHosts["messages"], nil
	})
	same(t, straight, o)
	placeholders(t, straight, o)
	stored(t, straight, o)
}

// marks counts the placeholders in each turn.
func marks(o outcome) (all []int) {
	for _, r := range o.turns() {
		all = append(all, bytes.Count(r.Body, []byte(mark)))
	}
	return all
}

// stetProcesses returns the processes of "stet NAME" with this home: "wrap", or "wrapped", its proxy.
func stetProcesses(home, name string) (pids []int) {
	names, _ := filepath.Glob("/proc/[0-9]*/cmdline") // it shows the processes outside of the namespace
	for _, file := range names {
		command, _ := os.ReadFile(file)
		environ, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "environ"))
		words := strings.Split(string(command), "\x00")
		if len(words) < 2 || filepath.Base(words[0]) != "stet" || words[1] != name || !bytes.Contains(environ, []byte("HOME="+home+"\x00")) {
			continue
		}
		status, _ := os.ReadFile(filepath.Join(filepath.Dir(file), "status"))
		_, rest, _ := strings.Cut(string(status), "NSpid:")
		line, _, _ := strings.Cut(rest, "\n")
		if f := strings.Fields(line); len(f) > 0 {
			pid, _ := strconv.Atoi(f[len(f)-1])
			pids = append(pids, pid)
		}
	}
	return pids
}

func signalAll(pids []int, s syscall.Signal) {
	for _, pid := range pids {
		_ = syscall.Kill(pid, s) // it may have ended
	}
}

// TestKills kills the proxy of wrap, or wrap itself, in the middle of answers. No session of an agent ends by it (SAME-2).
func TestKills(t *testing.T) {
	need(t)
	kills := 2
	if os.Getenv("STET_SOAK") != "" {
		kills = 50
	}
	for _, a := range []agent{claudeCode("2.1.332"), codex, soaking(opencode("messages", "anthropic", bound))} {
		ways := []route{wrapWith("--via", "base-url"), connected(a)}
		for _, victim := range []string{"wrapped", "wrap"} {
			t.Run(a.name+"/"+victim, func(t *testing.T) {
				a.skip(t)
				t.Parallel()
				straight := straight(t, a)
				killed, sessions := 0, 0
				for ; killed < kills || sessions < len(ways); sessions++ {
					var k *killer
					o := session(t, outliving(a), func(t *testing.T, home, model string) (string, []string) {
						k = newKiller(t, home, model, victim, 2)
						base, before := ways[sessions%len(ways)](t, home, k.url)
						return base, append(keepOn(t, home), before...)
					})
					killed += k.count()
					t.Logf("session %d: %d kills, %d in all", sessions, k.count(), killed)
					if k.count() == 0 {
						t.Fatalf("nothing was killed: %v %s", o.exit, o.output)
					}
					if !slices.Equal(o.exit, straight.exit) || o.diff != straight.diff {
						t.Fatalf("exit codes %v, without stet %v; after %d kills:\n%s\n%s", o.exit, straight.exit, k.count(), o.output, o.diff)
					}
				}
				t.Logf("%d kills of stet %s in %d sessions of %s, none of which ended by it", killed, victim, sessions, a.name)
			})
		}
	}
}

// keepOn returns a command that runs the command after it, and ends when the agent of outliving has ended, with its exit code.
func keepOn(t *testing.T, home string) []string {
	file := filepath.Join(home, "keep-on.sh")
	write(t, file, `rm -f "$HOME/code"
"$@" >>"$HOME/said" 2>&1
while [ ! -e "$HOME/code" ]; do sleep 0.1; done
cat "$HOME/said"
exit "$(cat "$HOME/code")"
`)
	return []string{"sh", file}
}

// outliving is an agent that writes its exit code into the file "code" of its home.
func outliving(a agent) agent {
	command := a.command
	a.command = func(home, prompt string, again bool) []string {
		args := command(home, prompt, again)
		if args == nil {
			return nil
		}
		program, err := exec.LookPath(args[0])
		if err != nil {
			return args // it is said when it runs
		}
		file := filepath.Join(home, "programs", filepath.Base(args[0]))
		_ = os.MkdirAll(filepath.Dir(file), 0o700)
		text := fmt.Sprintf("#!/bin/sh\n%q \"$@\"\necho $? >\"$HOME/code.new\"\nmv \"$HOME/code.new\" \"$HOME/code\"\n", program)
		_ = os.WriteFile(file, []byte(text), 0o700) // without it nothing runs
		return append([]string{file}, args[1:]...)
	}
	return a
}

// killer passes requests on, and kills processes of stet with kill -9 in the middle of each nth answer.
type killer struct {
	url string

	mu           sync.Mutex
	asked, kills int
}

func newKiller(t *testing.T, home, model, victim string, nth int) *killer {
	t.Helper()
	upstream, err := url.Parse(model)
	if err != nil {
		t.Fatal(err)
	}
	k := &killer{}
	forward := &httputil.ReverseProxy{FlushInterval: -1, Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(upstream) }, ModifyResponse: func(r *http.Response) error {
		k.mu.Lock()
		defer k.mu.Unlock()
		if k.asked++; k.asked%nth == 0 && r.Request.Method == http.MethodPost {
			r.Body = &killing{r.Body, func() {
				pids := stetProcesses(home, victim) // a stet wrap is gone after the first time
				signalAll(pids, syscall.SIGKILL)
				k.mu.Lock()
				defer k.mu.Unlock()
				k.kills += len(pids)
			}}
		}
		return nil
	}}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex() // otherwise an answer may end when it begins before its request's end is read
		forward.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	k.url = s.URL
	return k
}

func (k *killer) count() int {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.kills
}

// killing is a body that calls kill after its first bytes, once.
type killing struct {
	io.ReadCloser
	kill func()
}

func (b *killing) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p[:min(len(p), 200)])
	if b.kill != nil && n > 0 {
		b.kill()
		b.kill = nil
	}
	return n, err
}

// TestNoDoubleRequests sends requests of all sizes through the forward proxy with the HTTP client of Bun, which opencode has in it. Bun sends
// a request again by itself if its answer breaks off: each must arrive once (SAME-2).
func TestNoDoubleRequests(t *testing.T) {
	need(t)
	requests := 100
	if os.Getenv("STET_SOAK") != "" {
		requests = 3000
	}
	home := t.TempDir()
	var mu sync.Mutex
	arrived := map[string]int{}
	model := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		mu.Lock()
		arrived[r.Header.Get("X-Number")]++
		mu.Unlock()
		w.Header().Set("Content-Type", "text/event-stream")
		for range 3 {
			fmt.Fprint(w, "event: ping\ndata: {\"type\":\"ping\"}\n\n")
			_ = http.NewResponseController(w).Flush()
		}
	}))
	defer model.Close()
	write(t, filepath.Join(home, "ask.js"), `
		const all = +process.argv.at(-1)
		let next = 0, failed = 0
		const worker = async () => {
			for (let n; (n = next++) < all;) {
				const text = 'x'.repeat([10, 3000, 60000, 300000][n % 4])
				const body = JSON.stringify({model: 'claude-sonnet-4-5', max_tokens: 9, stream: true, messages: [{role: 'user', content: n + text}]})
				const res = await fetch('https://api.anthropic.com/v1/messages', {method: 'POST', body, headers: {'X-Number': n, 'X-Api-Key': 'dummy', 'Content-Type': 'application/json'}})
				if (res.status !== 200 || (await res.text()).split('ping').length !== 7) failed++
			}
		}
		await Promise.all([1, 2, 3, 4].map(worker))
		console.log('failed', failed)
	`)
	program := filepath.Join(filepath.Dir(os.Getenv(envAgents)), "opencode-linux-x64", "bin", "opencode")
	if _, err := os.Stat(program); err != nil {
		t.Skip(err)
	}
	exit, said := run(t, home, append(environment(home), "BUN_BE_BUN=1"),
		[]string{os.Getenv(envStet), "wrap", "--via", "connect", "--upstream", model.URL, "--", program, "run", filepath.Join(home, "ask.js"), fmt.Sprint(requests)})
	if exit != 0 || !strings.Contains(said, "failed 0\n") {
		t.Errorf("exit code %d: %s", exit, said)
	}
	for n, times := range arrived {
		if times != 1 {
			t.Errorf("request %s arrived %d times", n, times)
		}
	}
	if len(arrived) != requests {
		t.Errorf("%d of %d requests arrived", len(arrived), requests)
	}
}

// TestToolsBehindForwardProxy runs git, npm, pip and curl from the shell of an agent behind the forward proxy, at a server with TLS. During the clone
// the proxy dies, its successor is stopped, and the clone is whole (SAME-3).
func TestToolsBehindForwardProxy(t *testing.T) {
	need(t)
	home := t.TempDir()
	origin := filepath.Join(home, "origin")
	big := make([]byte, 4<<20)
	_, _ = rand.Read(big)
	write(t, filepath.Join(origin, "big.bin"), string(big))
	git(t, origin, "init", "-q", "-b", "main")
	git(t, origin, "add", "-A")
	git(t, origin, "-c", "user.name=t", "-c", "user.email=t@example.org", "commit", "-qm", "one")
	gitPath, err := exec.LookPath("git")
	if err != nil {
		t.Skip(err)
	}
	wheel := tinyWheel(t)
	var once sync.Once
	clone := &cgi.Handler{Path: gitPath, Args: []string{"http-backend"}, Root: "/git", Env: []string{"GIT_PROJECT_ROOT=" + home, "GIT_HTTP_EXPORT_ALL=1", "HOME=" + home}}
	var first, second []int
	server := serveTLS(t, home, "443", http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasPrefix(r.URL.Path, "/git/"):
			if strings.HasSuffix(r.URL.Path, "/git-upload-pack") {
				w = &injecting{ResponseWriter: w, inject: func() {
					once.Do(func() {
						first = stetProcesses(home, "wrapped")
						signalAll(first, syscall.SIGKILL)
						for range 1000 { // until another one has taken its place
							if second = stetProcesses(home, "wrapped"); len(second) > 0 && !slices.Equal(first, second) {
								break
							}
							time.Sleep(10 * time.Millisecond)
						}
						signalAll(second, syscall.SIGSTOP)
					})
				}}
			}
			clone.ServeHTTP(w, r)
		case r.URL.Path == "/npm/tiny":
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, `{"name":"tiny","dist-tags":{"latest":"1.2.3"},"versions":{"1.2.3":{"name":"tiny","version":"1.2.3","dist":{"tarball":"https://`+publicAddress+`/npm/tiny.tgz"}}}}`)
		case r.URL.Path == "/simple/tiny/":
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprintf(w, `<a href="/tiny-1.2.3-py3-none-any.whl#sha256=%x">tiny-1.2.3-py3-none-any.whl</a>`, sha256.Sum256(wheel))
		case r.URL.Path == "/tiny-1.2.3-py3-none-any.whl":
			_, _ = w.Write(wheel)
		case r.URL.Path == "/hello":
			fmt.Fprint(w, "hello over ", r.Proto)
		default:
			http.NotFound(w, r)
		}
	}))
	at := "https://" + publicAddress
	env := append(environment(home), "GIT_SSL_CAINFO="+server, "PIP_CERT="+server, "NODE_EXTRA_CA_CERTS="+server, "CURL_CA_BUNDLE="+server, "PIP_DISABLE_PIP_VERSION_CHECK=1",
		"npm_config_update_notifier=false", "npm_config_cafile="+server, "GIT_CONFIG_GLOBAL=/dev/null")
	for _, tool := range []struct{ program, command, want string }{
		{"git", "git clone -q " + at + "/git/origin " + filepath.Join(home, "copy") + " && sha256sum " + filepath.Join(home, "copy/big.bin"), fmt.Sprintf("%x", sha256.Sum256(big))},
		{"curl", "curl -sS -w ' connect %{http_connect}' " + at + "/hello", "hello over HTTP/2.0 connect 200"},
		{"curl", "curl -sS --http1.1 " + at + "/hello", "hello over HTTP/1.1"},
		{"npm", "npm view --registry " + at + "/npm/ tiny version", "1.2.3"},
		{"pip", "pip download -q --no-deps --index-url " + at + "/simple -d " + filepath.Join(home, "wheels") + " tiny && ls " + filepath.Join(home, "wheels"), "tiny-1.2.3-py3-none-any.whl"},
	} {
		if _, err := exec.LookPath(tool.program); err != nil {
			t.Logf("%s is not here", tool.program)
			continue
		}
		exit, said := run(t, home, env, []string{os.Getenv(envStet), "wrap", "--via", "connect", "--", "sh", "-c", tool.command})
		if exit != 0 || !strings.Contains(said, tool.want) {
			t.Errorf("%s: code %d: %s", tool.command, exit, said)
		}
	}
	if len(first) == 0 || len(second) == 0 || slices.Equal(first, second) {
		t.Errorf("the proxy was not killed and stopped: %v %v", first, second)
	}
}

// injecting calls inject after the first bytes of a large answer.
type injecting struct {
	http.ResponseWriter
	written int
	inject  func()
}

func (w *injecting) Write(b []byte) (int, error) {
	n, err := w.ResponseWriter.Write(b)
	if w.written += n; w.written > 1<<20 {
		w.inject()
	}
	return n, err
}

// publicAddress is an address of the namespace that is not private.
const publicAddress = "198.51.100.1"

// publicUp gives the loopback device the public address.
func publicUp() error {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_DGRAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	public, err := unix.NewIfreq("lo:1")
	if err != nil {
		return err
	}
	if err := public.SetInet4Addr(net.ParseIP(publicAddress).To4()); err != nil {
		return err
	}
	return unix.IoctlIfreq(fd, unix.SIOCSIFADDR, public)
}

// certificate returns a certificate for names and addresses, and the file of the authority that signed it.
func certificate(t *testing.T, dir string, names []string, addresses ...net.IP) (tls.Certificate, string) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "the signer of this test"}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	signed, err := x509.CreateCertificate(rand.Reader, signer, signer, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(dir, "server.pem")
	write(t, file, string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: signed})))
	der, err := x509.CreateCertificate(rand.Reader, &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: names[0]}, DNSNames: names, IPAddresses: addresses, NotBefore: signer.NotBefore, NotAfter: signer.NotAfter,
	}, signer, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, file
}

// serveTLS serves h at a port of the public address, and returns the file of the authority that signed its certificate.
func serveTLS(t *testing.T, dir, port string, h http.Handler) string {
	t.Helper()
	// Behind any HTTP proxy npm checks the certificate of an address for the name localhost.
	cert, file := certificate(t, dir, []string{"localhost"}, net.ParseIP(publicAddress))
	if err := publicUp(); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", publicAddress+":"+port)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(h)
	_ = s.Listener.Close()
	s.Listener, s.EnableHTTP2 = l, true
	s.TLS = &tls.Config{Certificates: []tls.Certificate{cert}}
	s.StartTLS()
	t.Cleanup(s.Close)
	return file
}

// tinyWheel returns a package for pip.
func tinyWheel(t *testing.T) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for name, text := range map[string]string{
		"tiny.py": "", "tiny-1.2.3.dist-info/METADATA": "Metadata-Version: 2.1\nName: tiny\nVersion: 1.2.3\n",
		"tiny-1.2.3.dist-info/WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n", "tiny-1.2.3.dist-info/RECORD": "",
	} {
		f, err := z.Create(name)
		if err != nil {
			t.Fatal(err)
		}
		_, _ = io.WriteString(f, text) // to memory
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}
