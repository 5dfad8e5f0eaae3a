package site

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/stet-dev/stet/cmd/stet/internal/proxyserver"
	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/web"
)

// Accounts names an OpenID Connect issuer with whose accounts people log in to the page, and the roles of its accounts. Only Claim, Scopes and Lasts are
// optional. The zero value is none.
type Accounts struct {
	Issuer     string            // https://login.example.org; http only on the loopback
	ClientID   string            // stet's client ID at the issuer
	SecretFile string            // with the secret of the client
	URL        string            // the server's URL for browsers: https://gateway.example.org
	Claim      string            // the claim with the person's groups
	Roles      map[string]string // by group: gateway.Approvers or gateway.Admins
	Scopes     []string          // requested in addition to openid, profile and email
	Lasts      time.Duration     // of a session
}

// Paths of logins.
const (
	startPath    = "/login/start"
	callbackPath = "/login/callback"
)

// askTime is how long the issuer may take to answer.
const askTime = 15 * time.Second

// callbacksOfOne limits the callbacks from one address in a minute, because each makes a request to the issuer.
const callbacksOfOne = 20

// signIn serves logins below /login/: the authorization code flow with PKCE, a state and a nonce. The sessions are kept in this process's memory, and the
// secret of each in a cookie that scripts cannot read. It may be used concurrently.
type signIn struct {
	Accounts
	secret   string // of the client
	log      *slog.Logger
	refused  func(r *http.Request, why string) // called for a failed login
	sessions logins
	attempts limits.Keyed // by address

	asking   chan struct{}  // capacity 1; full while one of the following fields is in use
	provider *oidc.Provider // nil: the issuer was not reached yet
	failed   error          // why the last request to it failed
	asked    time.Time      // when that was
}

// openSignIn reads the issuer's metadata. If the issuer cannot be reached, that is no error: the next login tries again.
func openSignIn(ctx context.Context, a Accounts, log *slog.Logger, refused func(*http.Request, string)) (*signIn, error) {
	secret, err := os.ReadFile(a.SecretFile)
	if err == nil && len(bytes.TrimSpace(secret)) == 0 {
		err = fmt.Errorf("%s is empty", a.SecretFile)
	}
	if err != nil {
		return nil, fmt.Errorf("--oidc-secret: %w", err)
	}
	a.URL = strings.TrimSuffix(a.URL, "/")
	s := &signIn{
		Accounts: a, secret: strings.TrimSpace(string(secret)), log: log, refused: refused,
		attempts: limits.Keyed{PerMinute: callbacksOfOne}, asking: make(chan struct{}, 1),
	}
	_, err = s.discover(ctx)
	var unreachable *url.Error
	if errors.As(err, &unreachable) {
		log.Warn("the issuer of logins is not reached; it is asked again at the next login", "issuer", a.Issuer, "err", err)
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer: %w", err)
	}
	return s, nil
}

// Check validates the configuration. Its errors use the names of the flags.
func (a *Accounts) Check() error {
	switch {
	case a.Issuer == "" && (a.ClientID != "" || a.SecretFile != "" || a.URL != "" || len(a.Roles) > 0):
		return errors.New("--oidc-client-id, --oidc-secret, --oidc-url and --oidc-role go with --oidc-issuer")
	case a.Issuer == "":
		return nil
	case a.ClientID == "" || a.SecretFile == "" || a.URL == "":
		return errors.New("--oidc-issuer needs --oidc-client-id, --oidc-secret FILE and --oidc-url")
	case len(a.Roles) == 0:
		return errors.New("--oidc-issuer needs --oidc-role GROUP=ROLE: without it no person has a role")
	case a.Lasts <= 0:
		return errors.New("--oidc-session: want a time above 0")
	}
	for _, one := range [][2]string{{"--oidc-issuer", a.Issuer}, {"--oidc-url", a.URL}} {
		u, err := url.Parse(one[1])
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "https" && (u.Scheme != "http" || !proxyserver.Loopback(u.Hostname())) {
			return fmt.Errorf("%s: want https://HOST (http on the loopback alone), have %q", one[0], one[1])
		}
	}
	for group, role := range a.Roles {
		if role != gateway.Approvers && role != gateway.Admins {
			return fmt.Errorf("--oidc-role %s=%s: the roles of people are %s and %s", group, role, gateway.Approvers, gateway.Admins)
		}
	}
	return nil
}

// issuerClient is the HTTP client for the issuer. Requests in the background, such as fetching its keys, also have a time limit.
var issuerClient = &http.Client{Timeout: askTime, Transport: short{}}

// mostAnswer is the limit of an issuer's answer, in bytes.
const mostAnswer = 1 << 20

// short is http.DefaultTransport with that limit.
type short struct{}

func (short) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, mostAnswer)
	}
	return res, err
}

// askAgain is the pause before the issuer is asked again after a failure. Without it, anyone who begins a login would cause a
// request.
const askAgain = 2 * time.Second

// discover returns the issuer's metadata, which is requested once.
func (s *signIn) discover(ctx context.Context) (*oidc.Provider, error) {
	select {
	case s.asking <- struct{}{}:
		defer func() { <-s.asking }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if s.provider != nil || s.failed != nil && time.Since(s.asked) < askAgain {
		return s.provider, s.failed
	}
	// A person who cancels must not make it fail for others.
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), askTime)
	defer cancel()
	s.provider, s.failed = oidc.NewProvider(oidc.ClientContext(ctx, issuerClient), s.Issuer)
	s.asked = time.Now()
	return s.provider, s.failed
}

func (s *signIn) clientOf(p *oidc.Provider) *oauth2.Config {
	scopes := append([]string{oidc.ScopeOpenID, "profile", "email"}, s.Scopes...)
	return &oauth2.Config{
		ClientID: s.ClientID, ClientSecret: s.secret, Endpoint: p.Endpoint(),
		RedirectURL: s.URL + callbackPath, Scopes: scopes,
	}
}

// Name returns the issuer's name for people.
func (s *signIn) Name() string {
	u, _ := url.Parse(s.Issuer) // check has parsed it
	return u.Host
}

// ServeHTTP implements http.Handler.
func (s *signIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Cache-Control", "no-store")
	switch {
	case r.Method != http.MethodGet:
		http.Error(w, "want GET", http.StatusMethodNotAllowed)
	case r.URL.Path == startPath:
		s.start(w, r)
	case r.URL.Path == callbackPath:
		s.callback(w, r)
	default:
		http.NotFound(w, r)
	}
}

// start sends the browser to the issuer.
func (s *signIn) start(w http.ResponseWriter, r *http.Request) {
	// The cookie must be set for the host name to which the issuer sends the browser back.
	if at, _ := url.Parse(s.URL); !strings.EqualFold(r.Host, at.Host) {
		http.Redirect(w, r, s.URL+startPath, http.StatusSeeOther)
		return
	}
	p, err := s.discover(r.Context())
	if err != nil {
		s.log.Error("login", "err", err)
		failLogin(w, http.StatusBadGateway, s.Name()+" does not answer: try again later, or log in with a token")
		return
	}
	t := newTransit()
	t.keep(w)
	http.Redirect(w, r, s.clientOf(p).AuthCodeURL(t.State, oidc.Nonce(t.Nonce), oauth2.S256ChallengeOption(t.Verifier)), http.StatusSeeOther)
}

// refusal is the reason for a failed login, in words for the person.
type refusal struct {
	status int
	why    string
}

func (r refusal) Error() string { return r.why }

// callback handles the browser's return from the issuer.
func (s *signIn) callback(w http.ResponseWriter, r *http.Request) {
	if wait, _ := s.attempts.Take(web.AddressOf(r), time.Now()); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(wait.Seconds())+1))
		failLogin(w, http.StatusTooManyRequests, fmt.Sprintf("more than %d logins in a minute from this address: try again later", callbacksOfOne))
		return
	}
	t, ok := transitOf(r)
	forget(w, transitCookie)
	person, err := s.identify(r, t, ok)
	if err != nil {
		no := refusal{http.StatusBadGateway, "the login could not be checked with " + s.Name() + "; the log of stet says why"}
		errors.As(err, &no)
		s.log.Warn("login refused", "err", err, "remote", r.RemoteAddr)
		s.refused(r, no.why)
		failLogin(w, no.status, no.why)
		return
	}
	s.sessions.begin(w, person, s.Lasts)
	s.log.Info("login", "person", person.Name, "admin", person.Admin)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func failLogin(w http.ResponseWriter, status int, why string) {
	http.Error(w, why+"\n\nTo begin again, open "+startPath+" here.", status)
}

// roleOf returns the highest role of a person's groups.
func (a *Accounts) roleOf(groups []string) (role string) {
	for _, g := range groups {
		if of := a.Roles[g]; of == gateway.Admins || role == "" {
			role = of
		}
	}
	return role
}

// groupsOf returns the strings of a claim: one string, or a list.
func groupsOf(claim any) ([]string, bool) {
	if one, ok := claim.(string); ok {
		return []string{one}, true
	}
	list, ok := claim.([]any)
	if !ok {
		return nil, false
	}
	var all []string
	for _, v := range list {
		if one, ok := v.(string); ok {
			all = append(all, one)
		}
	}
	slices.Sort(all)
	return all, true
}
