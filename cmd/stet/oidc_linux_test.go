package main

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/zitadel/oidc/v3/example/server/exampleop"
	"github.com/zitadel/oidc/v3/example/server/storage"
	"github.com/zitadel/oidc/v3/pkg/oidc"
	"github.com/zitadel/oidc/v3/pkg/op"

	"github.com/stet-dev/stet/test/freeport"
	"github.com/stet-dev/stet/test/webtest"
)

// accounts are the test issuer's accounts. Their password is "right".
type accounts map[string]*account

type account struct {
	storage.User
	groups any  // value of the claim; nil: missing
	early  bool // the claim is in the ID token, not only in the user info
}

func (a accounts) GetUserByID(id string) *storage.User {
	if one := a[id]; one != nil {
		return &one.User
	}
	return nil
}
func (a accounts) GetUserByUsername(name string) *storage.User { return a.GetUserByID(name) }
func (a accounts) ExampleClientID() string                     { return "none" }

// issuerStore is the example store of the issuer, with groups.
type issuerStore struct {
	*storage.Storage
	accounts accounts
}

func (s *issuerStore) SetUserinfoFromRequest(ctx context.Context, info *oidc.UserInfo, token op.IDTokenRequest, scopes []string) error {
	if a := s.accounts[token.GetSubject()]; a != nil && a.early && a.groups != nil {
		info.AppendClaims("groups", a.groups)
	}
	return s.Storage.SetUserinfoFromRequest(ctx, info, token, scopes)
}

func (s *issuerStore) SetUserinfoFromToken(ctx context.Context, info *oidc.UserInfo, tokenID, subject, origin string) error {
	if a := s.accounts[subject]; a != nil && a.groups != nil {
		info.AppendClaims("groups", a.groups)
	}
	return s.Storage.SetUserinfoFromToken(ctx, info, tokenID, subject, origin)
}

// issuer is a real OpenID Connect issuer. change may modify its answers.
type issuer struct {
	url, client string
	change      atomic.Pointer[func(path string, body []byte) []byte]
}

func startIssuer(t *testing.T, redirect string, known accounts) *issuer {
	t.Helper()
	i := &issuer{client: "stet-" + strings.ReplaceAll(redirect, "/", "-")}
	var serve http.Handler
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		change := i.change.Load()
		if change == nil {
			serve.ServeHTTP(w, r)
			return
		}
		answer := httptest.NewRecorder()
		serve.ServeHTTP(answer, r)
		for name, values := range answer.Header() {
			if name != "Content-Length" {
				w.Header()[name] = values
			}
		}
		w.WriteHeader(answer.Code)
		_, _ = w.Write((*change)(r.URL.Path, answer.Body.Bytes())) // the client may be gone
	}))
	t.Cleanup(s.Close)
	i.url = s.URL
	storage.RegisterClients(storage.WebClient(i.client, "the secret", redirect))
	store := storage.NewStorage(known)
	serve = exampleop.SetupServer(i.url+"/", &issuerStore{store, known}, nil, false)
	return i
}

// browser is a person's browser.
type browser struct {
	*http.Client
	t *testing.T
}

func newBrowser(t *testing.T, h *home) *browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{TLSClientConfig: certified(t, h.dir)}
	t.Cleanup(transport.CloseIdleConnections)
	return &browser{&http.Client{Jar: jar, Transport: transport}, t}
}

func (b *browser) read(res *http.Response, err error) (*http.Response, string) {
	b.t.Helper()
	if err != nil {
		b.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		b.t.Fatal(err)
	}
	return res, string(text)
}

var requestID = regexp.MustCompile(`name="id" value="([^"]+)"`)

// signIn goes through the issuer's pages, and returns the final response.
func (b *browser) signIn(base, issuer, name string) (*http.Response, string) {
	b.t.Helper()
	_, page := b.read(b.Get(base + "/login/start"))
	id := requestID.FindStringSubmatch(page)
	if id == nil {
		b.t.Fatalf("this is not the issuer's page: %s", page)
	}
	return b.read(b.PostForm(issuer+"/login/username", url.Values{"id": {id[1]}, "username": {name}, "password": {"right"}}))
}

func (b *browser) enter(base string) (*page, error) {
	p, err := webtest.Enter(b.t.Context(), b.Client, base, "")
	return &page{p, b.t}, err
}

func someAccounts() accounts {
	all := accounts{
		"anna":  {groups: []string{"developers", "stet-people"}},
		"berta": {groups: []string{"stet-people", "stet-admins"}, early: true},
		"carl":  {groups: []string{"developers"}},
		"dora":  {},
		"emil":  {groups: map[string]string{"a": "b"}},
		"fritz": {groups: "stet-people"},
	}
	for name, a := range all {
		a.User = storage.User{ID: name, Username: name, Password: "right", Email: name + "@example.org", EmailVerified: name != "fritz"}
	}
	return all
}

// oidcServe is stet serve with an issuer.
func oidcServe(t *testing.T, h *home, more ...string) (s *serving, i *issuer, b *browser) {
	t.Helper()
	b = newBrowser(t, h)
	address := freeport.Addresses(t, 1)[0]
	base := "https://" + address
	i = startIssuer(t, base+"/login/callback", someAccounts())
	secret := filepath.Join(h.dir, "secret")
	write(t, secret, "the secret\n")
	args := append([]string{
		"serve", "--root", h.tree, "--listen", address, "--tls-cert", filepath.Join(h.dir, "cert.pem"), "--tls-key", filepath.Join(h.dir, "key.pem"),
		"--oidc-issuer", i.url + "/", "--oidc-client-id", i.client, "--oidc-secret", secret, "--oidc-url", base,
		"--oidc-role", "stet-people=approver,stet-admins=admin",
	}, more...)
	return h.start(t, args...).serving(t), i, b
}

// People log in with an OpenID Connect account, and get the role of their groups. The trail has the address that the issuer
// verified. A logout ends the session.
func TestServeOIDC(t *testing.T) {
	h := newHome(t)
	s, i, anna := oidcServe(t, h)
	var ways struct {
		SignIn  string `json:"sign_in"`
		Session bool
	}
	look := func(b *browser) {
		t.Helper()
		_, text := b.read(b.Get(s.base + "/api/ways"))
		if err := json.Unmarshal([]byte(text), &ways); err != nil {
			t.Fatal(text, err)
		}
	}
	if look(anna); "http://"+ways.SignIn != i.url || ways.Session {
		t.Errorf("%+v", ways)
	}
	if _, err := anna.enter(s.base); err == nil {
		t.Error("without a session")
	}
	var cookies []*http.Cookie
	anna.CheckRedirect = func(r *http.Request, via []*http.Request) error {
		if r.URL.String() == s.base+"/" {
			cookies = r.Response.Cookies()
		}
		return nil
	}
	if res, text := anna.signIn(s.base, i.url, "anna"); res.StatusCode != http.StatusOK || res.Request.URL.String() != s.base+"/" {
		t.Fatalf("%s at %s: %s", res.Status, res.Request.URL, text)
	}
	found := false
	for _, c := range cookies {
		if c.Name == "__Host-stet-session" {
			found = true
			if !c.HttpOnly || !c.Secure || c.SameSite != http.SameSiteLaxMode || c.Path != "/" || c.Domain != "" || c.MaxAge != 5*60 {
				t.Errorf("%+v", c)
			}
		}
	}
	if look(anna); !found || !ways.Session {
		t.Errorf("no session: %v, %+v", cookies, ways)
	}
	desk, err := anna.enter(s.base)
	if err != nil {
		t.Fatal(err)
	}
	thief := &browser{&http.Client{Transport: anna.Transport}, t} // another server on this host got the cookie
	for _, c := range cookies {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/api/login", strings.NewReader(`{"token":""}`))
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/json")
		r.AddCookie(c)
		if res, text := thief.read(thief.Do(r)); res.StatusCode != http.StatusUnauthorized {
			t.Errorf("the cookie %s, after the page has taken the session: %s %s", c.Name, res.Status, text)
		}
	}
	if look(anna); ways.Session {
		t.Error("the session can be taken again")
	}
	done := apart(func() (string, error) {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.base+"/v1/sessions/s/tools/write_file", strings.NewReader(`{"path":"b.txt","content":"b\n"}`))
		if err != nil {
			return "", err
		}
		r.Header.Set("Authorization", "Bearer "+s.agent)
		res, err := anna.Do(r)
		if err != nil {
			return "", err
		}
		defer res.Body.Close()
		text, err := io.ReadAll(res.Body)
		return string(text), err
	})
	desk.approve(desk.question("b.txt"))
	if r := <-done; r.err != nil || !strings.Contains(r.text, `"success":true`) {
		t.Errorf("%+v", r)
	}
	if res := desk.do(http.MethodGet, "/api/audit", nil, nil); res.StatusCode != http.StatusForbidden {
		t.Errorf("the trail, to an approver: %s", res.Status)
	}

	berta := newBrowser(t, h)
	berta.Transport = anna.Transport // newBrowser made another certificate, which the server does not have
	if res, text := berta.signIn(s.base, i.url, "berta"); res.StatusCode != http.StatusOK {
		t.Fatalf("%s: %s", res.Status, text)
	}
	boss, err := berta.enter(s.base)
	if err != nil {
		t.Fatal(err)
	}
	if res := boss.do(http.MethodGet, "/api/audit", nil, nil); res.StatusCode != http.StatusOK {
		t.Errorf("the trail, to an admin: %s", res.Status)
	}
	fritz := newBrowser(t, h)
	fritz.Transport = anna.Transport
	fritz.signIn(s.base, i.url, "fritz")
	if p, err := fritz.enter(s.base); err != nil {
		t.Error(err)
	} else {
		var me struct{ Person string }
		if p.get("/api/me", &me); me.Person != "fritz" { // the subject, because the address is not verified
			t.Errorf("%+v", me)
		}
	}

	if res := desk.do(http.MethodPost, "/api/logout", struct{}{}, nil); res.StatusCode != http.StatusOK {
		t.Errorf("logout: %s", res.Status)
	}
	if look(anna); ways.Session {
		t.Error("the session is still there")
	}
	for _, c := range cookies { // a copy of the cookie does not work either
		anna.Jar.SetCookies(anna.mustParse(s.base), []*http.Cookie{c})
	}
	if look(anna); ways.Session {
		t.Error("the session is still there for a copy of the cookie")
	}
	if err := desk.Hello(t.Context()); err == nil {
		t.Error("the login is still there")
	}
	boss.get("/api/me", nil)

	if err := s.cmd.Process.Signal(syscall.SIGINT); err != nil { // the trail is written completely
		t.Fatal(err)
	}
	<-s.ended
	if out := h.run(t, "audit", "--json", "--last", "0"); !strings.Contains(out, `"by":"person anna@example.org"`) {
		t.Errorf("the trail does not say who approved: %s", out)
	}
}

func (b *browser) mustParse(s string) *url.URL {
	b.t.Helper()
	u, err := url.Parse(s)
	if err != nil {
		b.t.Fatal(err)
	}
	return u
}

// A session expires, and its login with it.
func TestServeOIDCExpiry(t *testing.T) {
	h := newHome(t)
	s, i, b := oidcServe(t, h, "--oidc-session", "5s")
	b.signIn(s.base, i.url, "berta")
	p, err := b.enter(s.base)
	if err != nil {
		t.Fatal(err)
	}
	p.get("/api/me", nil)
	waitFor(t, func() bool {
		res, err := p.try(http.MethodGet, "/api/me", nil, nil)
		return err != nil || res.StatusCode == http.StatusUnauthorized
	})
	if _, err := b.enter(s.base); err == nil {
		t.Error("the session has ended")
	}
}

// An error in an account or in the issuer's answers is reported, and the login fails.
func TestServeOIDCRefuses(t *testing.T) {
	h := newHome(t)
	s, i, first := oidcServe(t, h)
	fresh := func() *browser {
		jar, err := cookiejar.New(nil)
		if err != nil {
			t.Fatal(err)
		}
		return &browser{&http.Client{Jar: jar, Transport: first.Transport}, t}
	}
	refused := func(what string, b *browser, res *http.Response, text string, status int, says string) {
		t.Helper()
		if res.StatusCode != status || !strings.Contains(text, says) {
			t.Errorf("%s: %s: %s", what, res.Status, text)
		}
		if _, err := b.enter(s.base); err == nil {
			t.Errorf("%s: it is let in", what)
		}
	}
	for name, says := range map[string]string{
		"carl": "none of the groups of carl@example.org has a role here", "dora": `says nothing of "groups"`, "emil": "is neither a string nor a list",
	} {
		b := fresh()
		res, text := b.signIn(s.base, i.url, name)
		refused(name, b, res, text, http.StatusForbidden, says)
	}

	// An answer that this browser did not request.
	b, stolen := fresh(), ""
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/login/callback" {
			stolen = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.signIn(s.base, i.url, "berta")
	other := fresh()
	res, text := other.read(other.Get(stolen))
	refused("another browser", other, res, text, http.StatusBadRequest, "another browser")
	_, _ = other.read(other.Get(s.base + "/login/start")) // it has begun its own login
	res, text = other.read(other.Get(stolen))
	refused("another login", other, res, text, http.StatusBadRequest, "another browser")
	b.CheckRedirect = nil
	at, err := url.Parse(stolen)
	if err != nil {
		t.Fatal(err)
	}
	q := at.Query()
	q.Del("code")
	q.Set("error", "access_denied")
	q.Set("error_description", "no\x1b[31m")
	at.RawQuery = q.Encode()
	res, text = b.read(b.Get(at.String()))
	refused("the issuer refuses", b, res, text, http.StatusForbidden, `"access_denied" "no\x1b[31m"`)

	// A code can be used once, and only with its verifier.
	b = fresh()
	b.CheckRedirect = func(r *http.Request, _ []*http.Request) error {
		if r.URL.Path == "/login/callback" {
			stolen = r.URL.String()
			return http.ErrUseLastResponse
		}
		return nil
	}
	b.signIn(s.base, i.url, "berta")
	b.CheckRedirect = nil
	stolen = regexp.MustCompile(`code=[^&]*`).ReplaceAllString(stolen, "code=wrong")
	res, text = b.read(b.Get(stolen))
	refused("a wrong code", b, res, text, http.StatusBadGateway, "could not be checked")

	// Tokens that the issuer did not sign, or signed for another client, another login or another time.
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	for says, change := range map[string]func(claims map[string]any) bool{ // the result says whether it is signed again
		"sends no ID token":             nil,
		"is not good: failed to verify": func(map[string]any) bool { return false },
		"token is expired":              func(c map[string]any) bool { c["exp"] = time.Now().Add(-time.Hour).Unix(); return true },
		"expected audience":             func(c map[string]any) bool { c["aud"] = []string{"another"}; return true },
		"different provider":            func(c map[string]any) bool { c["iss"] = "https://evil.example"; return true },
		"belongs to another login":      func(c map[string]any) bool { c["nonce"] = "another"; return true },
		"is about":                      func(c map[string]any) bool { c["sub"] = "carl"; delete(c, "groups"); return true },
	} {
		i.forge(key, change)
		b := fresh()
		res, text := b.signIn(s.base, i.url, "berta")
		status := http.StatusBadGateway
		switch says {
		case "belongs to another login":
			status = http.StatusBadRequest
		case "is about": // the log has more details
			says = "could not be checked"
		}
		refused(says, b, res, text, status, says)
	}
	i.change.Store(nil)
	waitFor(t, func() bool {
		out, err := h.stet("audit", "--json", "--last", "0").CombinedOutput()
		return err == nil && strings.Contains(string(out), "a login with an account elsewhere failed")
	})
}

// forge replaces the issuer's ID tokens: without change there is none, otherwise it modifies the claims. If change returns true,
// key signs them, and the issuer publishes key as its own.
func (i *issuer) forge(key *rsa.PrivateKey, change func(claims map[string]any) bool) {
	encode := base64.RawURLEncoding.EncodeToString
	asJSON := func(v any) []byte {
		b, _ := json.Marshal(v) // strings and numbers always marshal
		return b
	}
	changing := func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/keys") && change != nil {
			return asJSON(map[string]any{"keys": []any{map[string]string{
				"kty": "RSA", "kid": "forged", "use": "sig", "alg": "RS256", "n": encode(key.N.Bytes()), "e": "AQAB",
			}}})
		}
		var answer map[string]any
		if !strings.HasSuffix(path, "/token") || json.Unmarshal(body, &answer) != nil {
			return body
		}
		if change == nil {
			delete(answer, "id_token")
			return asJSON(answer)
		}
		parts := strings.Split(answer["id_token"].(string), ".")
		data, _ := base64.RawURLEncoding.DecodeString(parts[1])
		claims := map[string]any{}
		_ = json.Unmarshal(data, &claims) // the ID token is valid JSON
		if change(claims) {
			parts[0], parts[1] = encode(asJSON(map[string]string{"alg": "RS256", "kid": "forged"})), encode(asJSON(claims))
			sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
			signature, _ := rsa.SignPKCS1v15(nil, key, crypto.SHA256, sum[:])
			parts[2] = encode(signature)
		} else {
			parts[2] = encode(make([]byte, 256))
		}
		answer["id_token"] = strings.Join(parts, ".")
		return asJSON(answer)
	}
	i.change.Store(&changing)
}

// A wrong configuration is reported at the start, also an issuer that uses another name for itself.
func TestServeOIDCFlags(t *testing.T) {
	h := newHome(t)
	i := startIssuer(t, "https://127.0.0.1:1/login/callback", someAccounts())
	wrong := func(path string, body []byte) []byte {
		if strings.HasSuffix(path, "/openid-configuration") {
			return []byte(strings.ReplaceAll(string(body), i.url, "https://evil.example"))
		}
		return body
	}
	i.change.Store(&wrong)
	secret, empty := filepath.Join(h.dir, "secret"), filepath.Join(h.dir, "empty")
	write(t, secret, "the secret\n")
	write(t, empty, "\n")
	all := func(change func(map[string]string)) []string {
		flags := map[string]string{"issuer": i.url + "/", "client-id": "x", "secret": secret, "url": "https://gateway.example.org", "role": "a=admin"}
		change(flags)
		var args []string
		for name, value := range flags {
			args = append(args, fmt.Sprintf("--oidc-%s=%s", name, value))
		}
		return args
	}
	for says, flags := range map[string][]string{
		"issuer":                            all(func(map[string]string) {}),
		"--oidc-issuer: want https":         all(func(m map[string]string) { m["issuer"] = "http://login.example.org" }),
		"--oidc-url: want https":            all(func(m map[string]string) { m["url"] = "http://gateway.example.org" }),
		"the roles of people are":           all(func(m map[string]string) { m["role"] = "a=agent" }),
		"without it no person has":          all(func(m map[string]string) { delete(m, "role") }),
		"--oidc-secret FILE and --oidc-url": all(func(m map[string]string) { delete(m, "secret") }),
		"no such file":                      all(func(m map[string]string) { m["secret"] = filepath.Join(h.dir, "none") }),
		"is empty":                          all(func(m map[string]string) { m["secret"] = empty }),
		"needs --oidc-client-id":            all(func(m map[string]string) { delete(m, "client-id") }),
		"go with --oidc-issuer":             all(func(m map[string]string) { delete(m, "issuer") }),
		"want a time above 0":               all(func(m map[string]string) { m["session"] = "0s" }),
	} {
		cmd := newHome(t).stet(append([]string{"serve", "--no-workspace", "--listen", "127.0.0.1:0", "--for", "1ms"}, flags...)...)
		if out, _ := cmd.CombinedOutput(); cmd.ProcessState.ExitCode() != exitUsage || !strings.Contains(string(out), says) {
			t.Errorf("%s: %d: %s", says, cmd.ProcessState.ExitCode(), out)
		}
	}
	// An issuer that cannot be reached does not prevent the start: tokens still work.
	s := h.serve(t, append([]string{"--no-workspace"}, all(func(m map[string]string) { m["issuer"] = "http://127.0.0.1:1"; m["url"] = "http://127.0.0.1:1" })...)...)
	login(t, s.base, s.person).get("/api/me", nil)
}

// Anyone can begin a login and return from one. The requests to the issuer that this causes are limited: for each network, also for
// IPv6, and while the issuer does not answer.
func TestServeOIDCAttempts(t *testing.T) {
	var asked atomic.Int64
	down := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {
		asked.Add(1)
		panic(http.ErrAbortHandler)
	}))
	defer down.Close()
	h := newHome(t)
	address, secret := freeport.Addresses(t, 1)[0], filepath.Join(h.dir, "secret")
	write(t, secret, "the secret\n")
	s := h.start(t, "serve", "--no-workspace", "--listen", address, "--trust-proxy", "127.0.0.1", "--oidc-issuer", down.URL, "--oidc-client-id", "x",
		"--oidc-secret", secret, "--oidc-url", "http://"+address, "--oidc-role", "a=admin").serving(t)
	before := asked.Load()
	for range 20 {
		if status, text := ask(t, http.MethodGet, s.base+"/login/start", ""); status != http.StatusBadGateway {
			t.Errorf("%d %s", status, text)
		}
	}
	if n := asked.Load() - before; n > 5 {
		t.Errorf("20 logins asked the issuer %d times", n)
	}
	last := 0
	for i := range 25 {
		last, _ = ask(t, http.MethodGet, s.base+"/login/callback", "", "X-Forwarded-For", fmt.Sprintf("2001:db8::%x", i+1))
	}
	if last != http.StatusTooManyRequests {
		t.Errorf("the 25th from a network: %d", last)
	}
}
