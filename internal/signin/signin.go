// Package signin lets people log in to the page with an account elsewhere, by OpenID
// Connect: the authorization code flow with PKCE, a state and a nonce. A claim of the
// account says which role the person has. The session that follows is in this
// process's memory, and its secret in a cookie that no script can read.
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

	"github.com/stet-dev/stet/gateway"
	"github.com/stet-dev/stet/internal/ratelimit"
	"github.com/stet-dev/stet/web"
)

// Config says whose accounts count, and what they are for. All but Claim, Scopes, Lasts,
// Log and Refused is needed.
type Config struct {
	Issuer   string            // https://login.example.org; http on the loopback alone
	ClientID string            // of stet at the issuer
	Secret   string            // of the client
	URL      string            // where browsers reach the server: https://gateway.example.org
	Claim    string            // that has the person's groups; "": groups
	Roles    map[string]string // by the value of the claim: gateway.Approvers or gateway.Admins
	Scopes   []string          // asked for besides openid, profile and email

	Lasts   time.Duration                     // of a session; 0: 12 h
	Log     *slog.Logger                      // nil: silence
	Refused func(r *http.Request, why string) // told of logins that failed; nil: nobody is
}

// Paths that SignIn serves.
const (
	startPath    = "/login/start"
	callbackPath = "/login/callback"
)

// usualLast is Config.Lasts where nothing else is said.
const usualLast = 12 * time.Hour

// askTime is how long the issuer may take to answer.
const askTime = 15 * time.Second

// callbacksOfOne is how many logins may come back from one address in a minute: each
// makes a request to the issuer.
const callbacksOfOne = 20

// SignIn serves logins below /login/, and knows the sessions. It may be used
// concurrently.
type SignIn struct {
	config   Config
	log      *slog.Logger
	sessions sessions
	attempts ratelimit.Keyed // by address

	asking   chan struct{}  // of capacity 1; full while one of the following is in use
	provider *oidc.Provider // nil: the issuer was not reached yet
	failed   error          // why it was not, when it was asked last
	asked    time.Time      // when that was
}

// Open looks at the configuration, and at what the issuer says of itself. An issuer that
// is not reached is no error: it is asked again at the next login.
func Open(ctx context.Context, c Config) (*SignIn, error) {
	if err := c.check(); err != nil {
		return nil, err
	}
	c.Claim, c.Lasts = cmp.Or(c.Claim, "groups"), cmp.Or(c.Lasts, usualLast)
	c.URL = strings.TrimSuffix(c.URL, "/")
	s := &SignIn{config: c, log: c.Log, attempts: ratelimit.Keyed{PerMinute: callbacksOfOne}, asking: make(chan struct{}, 1)}
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

// check says what is wrong with the configuration, by the names of the flags.
func (c *Config) check() error {
	switch {
	case c.ClientID == "" || c.Secret == "" || c.URL == "":
		return errors.New("--oidc-issuer needs --oidc-client-id, --oidc-secret and --oidc-url")
	case len(c.Roles) == 0:
		return errors.New("--oidc-issuer needs --oidc-role GROUP=ROLE: without it nobody has a role")
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

// client is what the issuer is asked with. Also what goes on without a request, as
// fetching its keys does, ends in time.
var client = &http.Client{Timeout: askTime, Transport: short{}}

// mostAnswer is how many bytes an answer of the issuer may have.
const mostAnswer = 1 << 20

// short is http.DefaultTransport for answers that are not longer.
type short struct{}

func (short) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := http.DefaultTransport.RoundTrip(r)
	if err == nil {
		res.Body = http.MaxBytesReader(nil, res.Body, mostAnswer)
	}
	return res, err
}

// askAgain is how long after the issuer was not reached it is asked again: everybody can
// begin a login.
const askAgain = 2 * time.Second

// discover returns what the issuer says of itself, which is asked for once.
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
	// A person who gives up does not make it fail for others.
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

// Name is what people log in to.
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
	// The cookie has to come back to the name that the issuer sends the browser to.
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

// refusal is why a login fails, in words for the person.
type refusal struct {
	status int
	why    string
}

func (r refusal) Error() string { return r.why }

// callback takes the browser back from the issuer.
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

// roleOf is the highest role that the groups of a person have.
func (c *Config) roleOf(groups []string) (role string) {
	for _, g := range groups {
		if of := c.Roles[g]; of == gateway.Admins || role == "" {
			role = of
		}
	}
	return role
}

// groupsOf are the texts of a claim: one text, or a list of them.
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
