// Package endpoint asks a model over HTTP, whatever wire format it speaks: it
// sends, tries again, watches for silence, gives up when told to, and makes
// errors of what went wrong. An adapter gives it a [Format] and is an
// llm.Model through a [Client].
package endpoint

import (
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"

	"github.com/stet-dev/stet/llm"
)

// Config says where a model is and how it is asked. Only BaseURL must be set.
type Config struct {
	// BaseURL is the endpoint's address as its provider gives it, with or
	// without the version ("https://host", "http://localhost:11434/v1"). A
	// query is kept; a user and password in it are sent.
	BaseURL string
	Key     Secret      // sent as the provider wants it; "" sends none
	Header  http.Header // sent with every request, in place of those of the same name
	Model   string      // for requests that name none

	// Extra is a JSON object whose members go into every request body, in
	// place of those of the same name; null takes one out.
	Extra json.RawMessage

	// HTTP sends the requests; nil is a client of its own that honours the
	// environment's proxy. Redirects are never followed: they would carry the
	// key elsewhere. It should have no Timeout, which long answers outlast.
	HTTP *http.Client

	Retries  int           // attempts after the first; 0 is 6, below 0 none
	Patience time.Duration // the longest pause an endpoint may ask for before the next attempt; 0 is a minute
	Idle     time.Duration // the longest silence in a stream, and before it; 0 is 5 minutes
	Whole    time.Duration // the longest wait for an answer that is not streamed; 0 is 15 minutes

	Logger *slog.Logger // attempts, without content; nil discards
}

// String names the endpoint and nothing that is secret.
func (c Config) String() string { return "endpoint " + c.host() }

// GoString is String.
func (c Config) GoString() string { return c.String() }

// Secret is a key. Printed, logged or marshalled it says nothing of itself.
type Secret string

const hidden = "[key]"

// String hides the key.
func (Secret) String() string { return hidden }

// GoString hides the key.
func (Secret) GoString() string { return hidden }

// MarshalText hides the key.
func (Secret) MarshalText() ([]byte, error) { return []byte(hidden), nil }

// LogValue hides the key.
func (Secret) LogValue() slog.Value { return slog.StringValue(hidden) }

// check refuses a key that no header can hold: a piece of a file, a shell's
// prompt.
func (s Secret) check() error {
	for _, c := range []byte(strings.TrimSpace(string(s))) {
		if c <= ' ' || c >= 0x7f {
			return fmt.Errorf("%w: the key holds a character that no key has", llm.ErrAuth)
		}
	}
	return nil
}

func (c Config) retries() int { return max(orElse(c.Retries, 6), 0) }

func (c Config) logger() *slog.Logger {
	if c.Logger == nil {
		return slog.New(slog.DiscardHandler)
	}
	return c.Logger
}

func (c Config) client() *http.Client {
	var client http.Client
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// address is the URL of path, which begins with a version ("/v1/messages").
// The base may end with a version already. If based, a base that has any path
// at all has the version in it, or stands in its place.
func (c Config) address(path string, based bool) (string, error) {
	u, err := url.Parse(c.BaseURL)
	if err != nil { // the error quotes the URL, which may hold a password
		return "", errors.New("base URL is none")
	}
	if u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", fmt.Errorf("base URL for host %q: neither http nor https", u.Host)
	}
	u.Path = strings.TrimRight(u.Path, "/")
	last := u.Path[strings.LastIndex(u.Path, "/")+1:]
	if based && u.Path != "" || version.MatchString(last) {
		path = path[1+strings.Index(path[1:], "/"):]
	}
	u.Path, u.RawPath = u.Path+path, ""
	return u.String(), nil
}

var version = regexp.MustCompile(`^v[0-9]+$`)

func (c Config) host() string {
	u, err := url.Parse(c.BaseURL)
	if err != nil {
		return ""
	}
	return u.Host
}

// orElse is v, or def where v is zero.
func orElse[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
