// Package webtest has a client for tests that acts like the page of package web: it logs in, proves its requests, and checks the
// proof of each answer, as ui/src/lib/api.ts does.
package webtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strconv"
	"sync"
)

// ErrStranger says that a server cannot prove that it is the server of the login.
var ErrStranger = errors.New("this is not the server that the page logged in to")

// Page is a page that is logged in. Its methods may be called concurrently.
type Page struct {
	Base   string       // URL of the server
	Client *http.Client // nil: the default

	Login string // name of the login
	Key   []byte // key of the login

	mu      sync.Mutex
	channel string
	number  uint64
}

// Enter logs in with a token.
func Enter(ctx context.Context, client *http.Client, base, token string) (*Page, error) {
	p := &Page{Base: base, Client: client}
	var in struct{ Login, Key string }
	if err := p.plain(ctx, "/api/login", map[string]string{"token": token}, &in); err != nil {
		return nil, err
	}
	key, err := base64.RawURLEncoding.DecodeString(in.Key)
	p.Login, p.Key = in.Login, key
	return p, err
}

// plain makes a POST request without a proof.
func (p *Page) plain(ctx context.Context, path string, body, into any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, p.Base+path, bytes.NewReader(data))
	if err != nil {
		return err
	}
	r.Header.Set("Content-Type", "application/json")
	res, err := p.client().Do(r)
	if err != nil {
		return err
	}
	defer res.Body.Close()
	if res.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(res.Body)
		return fmt.Errorf("%s: %s: %s", path, res.Status, text)
	}
	return json.NewDecoder(res.Body).Decode(into)
}

func (p *Page) client() *http.Client {
	if p.Client == nil {
		return http.DefaultClient
	}
	return p.Client
}

// Hello opens another channel. The error is ErrStranger if the server cannot prove itself.
func (p *Page) Hello(ctx context.Context) error {
	nonce := rand.Text()
	var out struct{ Channel, MAC string }
	err := p.plain(ctx, "/api/hello", map[string]string{"login": p.Login, "nonce": nonce, "mac": p.sum("hello", p.Login, nonce)}, &out)
	if err != nil {
		return fmt.Errorf("%w: %w", ErrStranger, err)
	}
	if !hmac.Equal([]byte(out.MAC), []byte(p.sum("welcome", nonce, out.Channel))) {
		return ErrStranger
	}
	if out.Channel == "" {
		return errors.New("the login has ended")
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.channel, p.number = out.Channel, 0
	return nil
}

// Forget makes the next request say hello.
func (p *Page) Forget() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.channel = ""
}

// Request returns a request with its proof. A nil body means none.
func (p *Page) Request(ctx context.Context, method, path string, body any) (*http.Request, error) {
	var data []byte
	if body != nil {
		var err error
		if data, err = json.Marshal(body); err != nil {
			return nil, err
		}
	}
	p.mu.Lock()
	known := p.channel != ""
	p.mu.Unlock()
	if !known {
		if err := p.Hello(ctx); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, p.Base+path, bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	p.mu.Lock()
	p.number++
	channel, number := p.channel, strconv.FormatUint(p.number, 10)
	p.mu.Unlock()
	hash := hashOf(data)
	mac := p.sum("request", channel, number, method, r.URL.RequestURI(), hash)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Stet-Proof", channel+"."+number+"."+hash+"."+mac)
	return r, nil
}

// Do makes a request, and says hello again if the server was restarted. The answer has proved itself; otherwise the error is
// ErrStranger.
func (p *Page) Do(ctx context.Context, method, path string, body any) (*http.Response, error) {
	for again := false; ; again = true {
		r, err := p.Request(ctx, method, path, body)
		if err != nil {
			return nil, err
		}
		res, err := p.client().Do(r)
		if err != nil {
			p.Forget()
			return nil, err
		}
		if p.Proved(r, res) {
			return res, nil
		}
		p.Forget()
		_ = res.Body.Close()
		if again || res.StatusCode != http.StatusUnauthorized {
			return nil, fmt.Errorf("%w: %s", ErrStranger, res.Status)
		}
	}
}

// Proved reports whether an answer has the proof for the request. It reads the body and restores it, unless the body is events or a
// file.
func (p *Page) Proved(r *http.Request, res *http.Response) bool {
	proof := r.Header.Get("Stet-Proof")
	mac := proof[len(proof)-base64.RawURLEncoding.EncodedLen(sha256.Size):]
	want := p.sum("stream", mac)
	if res.StatusCode != http.StatusOK || !streams.MatchString(r.URL.Path) {
		body, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		if err != nil {
			return false
		}
		res.Body = io.NopCloser(bytes.NewReader(body))
		want = p.sum("answer", mac, strconv.Itoa(res.StatusCode), hashOf(body))
	}
	return hmac.Equal([]byte(res.Header.Get("Stet-Proof")), []byte(want))
}

// streams matches the paths whose body is events or a file.
var streams = regexp.MustCompile("/(events|export)$")

func hashOf(body []byte) string {
	sum := sha256.Sum256(body)
	return base64.RawURLEncoding.EncodeToString(sum[:])
}

func (p *Page) sum(parts ...string) string {
	m := hmac.New(sha256.New, p.Key)
	for i, part := range parts {
		if i > 0 {
			m.Write([]byte{'\n'})
		}
		m.Write([]byte(part))
	}
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}
