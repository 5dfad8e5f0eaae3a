package notify

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"net/http"
	"net/netip"
	"os"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/SherClockHolmes/webpush-go"

	"github.com/stet-dev/stet/internal/atomicfile"
	"github.com/stet-dev/stet/internal/httpguard"
	"github.com/stet-dev/stet/internal/limits"
)

// Push sends messages to the browsers that people have named on the page: web push (RFC 8030), encrypted for the browser (RFC 8291) and signed with
// a key of this server (RFC 8292). The key and the browsers are kept in a file of mode 0600. It may be used concurrently.
type Push struct {
	// May reports whether the person of a login may read a question, about an agent's own tool (native) or another one. known is false if the login has
	// ended or has no right any more. Its browser is forgotten then.
	May func(login string, native bool) (may, known bool)

	file   string
	client *http.Client

	mu   sync.Mutex
	kept *pushFile // nil: not read yet
}

// pushFile is the content of the file.
type pushFile struct {
	Private  string    `json:"private"` // the key, in base64url
	Public   string    `json:"public"`
	Browsers []browser `json:"browsers"` // the newest first
}

// browser is where a person wants messages. Who knows the endpoint can send something there, so it is in no log and no error.
type browser struct {
	Login  string `json:"login"` // the login at the page, with which it ends
	Person string `json:"person"`
	webpush.Subscription
}

// Limits of the browsers that are kept. If there are more, the oldest is forgotten.
const (
	mostOfPerson = 8
	mostBrowsers = 64
)

// longestPush is the limit of a message's text in bytes. A push service takes 4,096 bytes, and JSON may need six for one.
const longestPush = 600

// NewPush returns the Push with this file, which is made when it is needed.
func NewPush(file string) *Push {
	checked := http.DefaultTransport.(*http.Transport).Clone()
	checked.Proxy = nil
	checked.DialContext = (&net.Dialer{Timeout: sendTimeout, ControlContext: onlyPublic}).DialContext
	return &Push{file: file, client: &http.Client{Transport: outside{checked}, CheckRedirect: stay}}
}

// outside reaches public addresses alone, since a browser says what the address is: it must not lead to a server of this network. Where the environment
// names an HTTP proxy for the address, that proxy decides.
type outside struct{ direct http.RoundTripper }

func (o outside) RoundTrip(r *http.Request) (*http.Response, error) {
	if proxy, err := http.ProxyFromEnvironment(r); proxy != nil || err != nil {
		return http.DefaultTransport.RoundTrip(r)
	}
	return o.direct.RoundTrip(r)
}

// onlyPublic refuses a connection to another address. The name is resolved here, so it cannot lead elsewhere after this check.
func onlyPublic(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, err := netip.ParseAddrPort(address)
	if err != nil {
		return err
	}
	if !httpguard.Public(to.Addr()) {
		return errors.New("the push service has no public address")
	}
	return nil
}

// Key returns the public key of this server, in base64url.
func (p *Push) Key() (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.read(); err != nil {
		return "", err
	}
	if p.kept.Public == "" {
		private, public, err := webpush.GenerateVAPIDKeys()
		if err != nil {
			return "", err
		}
		p.kept.Private, p.kept.Public = private, public
		return public, p.write()
	}
	return p.kept.Public, nil
}

// Add keeps the browser of a login, in place of what it had before. The caller has checked the values.
func (p *Push) Add(login, person, endpoint, key, auth string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.read(); err != nil {
		return err
	}
	all := []browser{{login, person, webpush.Subscription{Endpoint: endpoint, Keys: webpush.Keys{P256dh: key, Auth: auth}}}}
	others := 0 // of the same person
	for _, b := range p.kept.Browsers {
		if b.Login == login || b.Endpoint == endpoint || len(all) == mostBrowsers {
			continue
		}
		if b.Person == person {
			others++
		}
		if b.Person != person || others < mostOfPerson {
			all = append(all, b)
		}
	}
	p.kept.Browsers = all
	return p.write()
}

// Remove forgets the browser of a login.
func (p *Push) Remove(login string) error {
	return p.remove(func(b browser) bool { return b.Login == login })
}

func (p *Push) remove(is func(browser) bool) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.read(); err != nil || !slices.ContainsFunc(p.kept.Browsers, is) {
		return err
	}
	p.kept.Browsers = slices.DeleteFunc(p.kept.Browsers, is)
	return p.write()
}

// read reads the file, once. The caller holds mu.
func (p *Push) read() error {
	if p.kept != nil {
		return nil
	}
	data, err := os.ReadFile(p.file)
	kept := &pushFile{}
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return err
	case json.Unmarshal(data, kept) != nil:
		return fmt.Errorf("%s is damaged: delete it, and press the button on the page again", p.file)
	}
	p.kept = kept
	return nil
}

// write replaces the file. The caller holds mu.
func (p *Push) write() error {
	data, err := json.Marshal(p.kept)
	if err != nil {
		return err
	}
	return atomicfile.Write(p.file, data, 0o600, true)
}

// send sends a message to the browsers of all people who may read it, and waits.
func (p *Push) send(ctx context.Context, m message) error {
	p.mu.Lock()
	err := p.read()
	if err != nil {
		p.mu.Unlock()
		return err
	}
	all, private, public := slices.Clone(p.kept.Browsers), p.kept.Private, p.kept.Public
	p.mu.Unlock()
	text, _ := json.Marshal(map[string]string{"question": m.Question, "text": limits.Clip(m.Text, longestPush)}) // strings always marshal
	topic := sha256.Sum256([]byte(m.Question))                                                                   // a later message takes the place of one that waits
	options := webpush.Options{
		HTTPClient: p.client, Subscriber: "https://github.com/stet-dev/stet", VAPIDPublicKey: public, VAPIDPrivateKey: private,
		Topic: base64.RawURLEncoding.EncodeToString(topic[:24]), Urgency: webpush.UrgencyHigh,
		TTL: int(cmp.Or(max(time.Until(m.Expires), 0), 24*time.Hour).Seconds()),
	}
	errs := make([]error, len(all))
	var sending sync.WaitGroup
	for i, b := range all {
		may, known := p.May(b.Login, m.native)
		if !known {
			errs[i] = p.Remove(b.Login)
		}
		if may && known {
			sending.Go(func() { errs[i] = p.sendTo(ctx, b, text, options) })
		}
	}
	sending.Wait()
	return errors.Join(errs...)
}

// sendTo sends a text to one browser, and forgets it if its push service does not know it any more. Its errors do not contain the address.
func (p *Push) sendTo(ctx context.Context, b browser, text []byte, options webpush.Options) error {
	status, err := answered(webpush.SendNotificationWithContext(ctx, text, &b.Subscription, &options))
	if status == http.StatusNotFound || status == http.StatusGone {
		return p.remove(func(o browser) bool { return o.Endpoint == b.Endpoint })
	}
	return err
}
