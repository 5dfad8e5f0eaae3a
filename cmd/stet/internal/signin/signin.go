// Package signin lets people log in to the page with an OpenID Connect account: the authorization code flow with PKCE, a state and
// a nonce. A claim of the account gives the person's role. The session is kept in this process's memory, and its secret in a cookie
// that scripts cannot read.
package signin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/coreos/go-oidc/v3/oidc"
	"golang.org/x/oauth2"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/server/gateway"
	"github.com/stet-dev/stet/server/web"
)

// Config names the issuer, and the roles of its accounts. Only Claim, Scopes, Lasts, Log and Refused are optional.
type Config struct {
	Issuer   string            // https://login.example.org; http only on the loopback
	ClientID string            // stet's client ID at the issuer
	Secret   string            // of the client
	URL      string            // the server's URL for browsers: https://gateway.example.org
	Claim    string            // the claim with the person's groups; "": groups
	Roles    map[string]string // by group: gateway.Approvers or gateway.Admins
	Scopes   []string          // requested in addition to openid, profile and email

	Lasts   time.Duration                     // of a session; 0: 12 h
	Log     *slog.Logger                      // nil: no logging
	Refused func(r *http.Request, why string) // called for a failed login; may be nil
}

// Paths that SignIn serves.
const (
	startPath    = "/login/start"
	callbackPath = "/login/callback"
)

// usualLast is the default of Config.Lasts.
const usualLast = 12 * time.Hour

// askTime is how long the issuer may take to answer.
const askTime = 15 * time.Second

// callbacksOfOne limits the callbacks from one address in a minute, because each makes a request to the issuer.
const callbacksOfOne = 20

// SignIn serves logins below /login/, and knows the sessions. It may be used
// concurrently.
type SignIn struct {
	config   Config
	log      *slog.Logger
	sessions sessions
	attempts limits.Keyed // by address

	asking   chan struct{}  // capacity 1; full while one of the following fields is in use
	provider *oidc.Provider // nil: the issuer was not reached yet
	failed   error          // why the last request to it failed
	asked    time.Time      // when that was
}

// Open checks the configuration, and reads the issuer's metadata. If the issuer cannot be reached, Open returns no error: the next
// login tries again.
func Open(ctx context.Context, c Config) (*SignIn, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Claim, c.Lasts = cmp.Or(c.Claim, "groups"), cmp.Or(c.Lasts, usualLast)
	c.URL = strings.TrimSuffix(c.URL, "/")
	s := &SignIn{config: c, log: c.Log, attempts: limits.Keyed{PerMinute: callbacksOfOne}, asking: make(chan struct{}, 1)}
	if s.log == nil {
		s.log = slog.New(slog.DiscardHandler)
	}
	_, err := s.discover(ctx)
	var unreachable *url.Error
	if errors.As(err, &unreachable) {
		s.log.Warn("the issuer of logins is not reached; it is asked again at the next login", "issuer", c.Issuer, "err", err)
		err = nil
	}
	if err != nil {
		return nil, fmt.Errorf("--oidc-issuer: %w", err)
	}
	return s, nil
}

// check validates the configuration. Its errors use the names of the flags.
func (c *Config) check() error {
	switch {
	case c.ClientID == "" || c.Secret == "" || c.URL == "":
		return errors.New("--oidc-issuer needs --oidc-client-id, --oidc-secret and --oidc-url")
	case len(c.Roles) == 0:
		return errors.New("--oidc-issuer needs --oidc-role GROUP=ROLE: without it no person has a role")
	case c.Lasts < 0:
		return errors.New("--oidc-session: want a time above 0")
	}
	for _, one := range []struct{ flag, value string }{{"--oidc-issuer", c.Issuer}, {"--oidc-url", c.URL}} {
		u, err := url.Parse(one.value)
		if err != nil || u.Host == "" || u.User != nil || u.RawQuery != "" || u.Scheme != "https" && (u.Scheme != "http" || !loopback(u.Hostname())) {
			return fmt.Errorf("%s: want https://HOST (http on the loopback alone), have %q", one.flag, one.value)
		}
	}
	for group, role := range c.Roles {
		if role != gateway.Approvers && role != gateway.Admins {
			return fmt.Errorf("--oidc-role %s=%s: the roles of people are %s and %s", group, role, gateway.Approvers, gateway.Admins)
		}
	}
	return nil
}

func loopback(host string) bool {
	ip, err := netip.ParseAddr(host)
	return host == "localhost" || err == nil && ip.IsLoopback()
}

// client is the HTTP client for the issuer. Requests in the background, such as fetching its keys, also have a time limit.
var client = &http.Client{Timeout: askTime, Transport: short{}}

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
func (s *SignIn) discover(ctx context.Context) (*oidc.Provider, error) {
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
	s.provider, s.failed = oidc.NewProvider(oidc.ClientContext(ctx, client), s.config.Issuer)
	s.asked = time.Now()
	return s.provider, s.failed
}

func (s *SignIn) clientOf(p *oidc.Provider) *oauth2.Config {
	scopes := append([]string{oidc.ScopeOpenID, "profile", "email"}, s.config.Scopes...)
	return &oauth2.Config{
		ClientID: s.config.ClientID, ClientSecret: s.config.Secret, Endpoint: p.Endpoint(),
		RedirectURL: s.config.URL + callbackPath, Scopes: scopes,
	}
}

// Name returns the issuer's name for people.
func (s *SignIn) Name() string {
	u, _ := url.Parse(s.config.Issuer) // check has parsed it
	return u.Host
}

// ServeHTTP implements http.Handler.
func (s *SignIn) ServeHTTP(w http.ResponseWriter, r *http.Request) {
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
func (s *SignIn) start(w http.ResponseWriter, r *http.Request) {
	// The cookie must be set for the host name to which the issuer sends the browser back.
	if at, _ := url.Parse(s.config.URL); !strings.EqualFold(r.Host, at.Host) {
		http.Redirect(w, r, s.config.URL+startPath, http.StatusSeeOther)
		return
	}
	p, err := s.discover(r.Context())
	if err != nil {
		s.log.Error("login", "err", err)
		fail(w, http.StatusBadGateway, s.Name()+" does not answer: try again later, or log in with a token")
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
func (s *SignIn) callback(w http.ResponseWriter, r *http.Request) {
	if wait, _ := s.attempts.Take(web.AddressOf(r), time.Now()); wait > 0 {
		w.Header().Set("Retry-After", fmt.Sprint(int(wait.Seconds())+1))
		fail(w, http.StatusTooManyRequests, fmt.Sprintf("more than %d logins in a minute from this address: try again later", callbacksOfOne))
		return
	}
	t, ok := transitOf(r)
	forget(w, transitCookie)
	person, err := s.identify(r, t, ok)
	if err != nil {
		no := refusal{http.StatusBadGateway, "the login could not be checked with " + s.Name() + "; the log of stet says why"}
		errors.As(err, &no)
		s.log.Warn("login refused", "err", err, "remote", r.RemoteAddr)
		if s.config.Refused != nil {
			s.config.Refused(r, no.why)
		}
		fail(w, no.status, no.why)
		return
	}
	s.sessions.begin(w, person, s.config.Lasts)
	s.log.Info("login", "person", person.Name, "admin", person.Admin)
	http.Redirect(w, r, "/", http.StatusSeeOther)
}

func fail(w http.ResponseWriter, status int, why string) {
	http.Error(w, why+"\n\nTo begin again, open "+startPath+" here.", status)
}

// roleOf returns the highest role of a person's groups.
func (c *Config) roleOf(groups []string) (role string) {
	for _, g := range groups {
		if of := c.Roles[g]; of == gateway.Admins || role == "" {
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
