// Package endpoint asks models over HTTP. Its [Client] is an llm.Model for any [llm.API]. It retries failed requests, watches for
// silence, stops when the context ends, and converts failures to errors.
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

// Config describes how to reach a model. Only BaseURL is required.
type Config struct {
	// BaseURL is the endpoint's address as its provider gives it, with or
	// without the version ("https://host", "http://localhost:11434/v1"). A
	// query is kept; a user and password in it are sent.
	BaseURL string
	Key     Secret // sent in the form that the provider expects; "" sends none
	Model   string // for requests without a model

	// Extra is a JSON object whose members are added to every request body. They replace members of the same name; null removes
	// a member.
	Extra json.RawMessage

	// HTTP sends the requests. nil is a client of the package's own that uses the proxy of the environment. Redirects are never followed,
	// because they would send the key elsewhere. It should have no Timeout, because answers may take long.
	HTTP *http.Client

	Retries int           // attempts after the first; 0 is 6; negative: none
	Idle    time.Duration // the longest silence before and within a stream; 0 is 5 minutes
	Whole   time.Duration // the longest wait for an answer that is not streamed; 0 is 15 minutes
}

// String names the endpoint without secrets.
func (c Config) String() string { return "endpoint " + c.host() }

// GoString returns String.
func (c Config) GoString() string { return c.String() }

// Secret is a key. It is hidden when printed, logged or marshalled.
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

// check rejects a key that cannot be in a header, for example a piece of a file or a shell prompt.
func (s Secret) check() error {
	for _, c := range []byte(strings.TrimSpace(string(s))) {
		if c <= ' ' || c >= 0x7f {
			return fmt.Errorf("%w: the key holds a character that no key has", llm.ErrAuth)
		}
	}
	return nil
}

func (c Config) retries() int { return max(orElse(c.Retries, 6), 0) }

func (c Config) client() *http.Client {
	var client http.Client
	if c.HTTP != nil {
		client = *c.HTTP
	}
	client.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &client
}

// address returns the URL for path, which begins with a version ("/v1/messages"). If the base URL ends with a version, the
// version of path is left out. With based it is left out for any base URL that has a path.
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

// orElse returns v, or def if v is zero.
func orElse[T comparable](v, def T) T {
	var zero T
	if v == zero {
		return def
	}
	return v
}
