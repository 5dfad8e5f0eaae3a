package endpoint

import (
	"crypto/tls"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/stet-dev/stet/llm"
)

func TestAddress(t *testing.T) {
	for _, c := range []struct {
		base, path string
		based      bool
		want       string
	}{
		{"https://api.test", "/v1/messages", false, "https://api.test/v1/messages"},
		{"https://api.test/", "/v1/messages", false, "https://api.test/v1/messages"},
		{"https://api.test/v1", "/v1/messages", false, "https://api.test/v1/messages"},
		{"https://api.test/vault", "/v1/messages", false, "https://api.test/vault/v1/messages"},
		{"https://api.test/vault/v2/", "/v1/messages", false, "https://api.test/vault/v2/messages"},
		{"http://localhost:11434", "/v1/chat/completions", true, "http://localhost:11434/v1/chat/completions"},
		{"http://localhost:11434/v1/", "/v1/chat/completions", true, "http://localhost:11434/v1/chat/completions"},
		{"https://api.test/v1beta/openai/", "/v1/chat/completions", true, "https://api.test/v1beta/openai/chat/completions"},
		{"https://api.test/openai/v1?api-version=2", "/v1/responses", true, "https://api.test/openai/v1/responses?api-version=2"},
	} {
		if got, err := (Config{BaseURL: c.base}).address(c.path, c.based); err != nil || got != c.want {
			t.Errorf("%s: %s, %v, want %s", c.base, got, err, c.want)
		}
	}
}

func TestRetryAfter(t *testing.T) {
	now := time.Date(2026, 11, 20, 12, 0, 0, 0, time.UTC)
	for _, c := range []struct {
		name, value string
		want        time.Duration
	}{
		{"Retry-After", "7", 7 * time.Second}, {"Retry-After", "0.5", 500 * time.Millisecond}, {"Retry-After", "0", 0},
		{"Retry-After", "-1", 0}, {"Retry-After", "soon", 0}, {"Retry-After", "NaN", 0}, {"Retry-After", "", 0},
		{"Retry-After", "1e300", 365 * 24 * time.Hour}, {"Retry-After-Ms", "250", 250 * time.Millisecond},
		{"Retry-After", "Fri, 20 Nov 2026 12:01:00 GMT", time.Minute}, {"Retry-After", "Fri, 20 Nov 2026 11:00:00 GMT", 0},
	} {
		if got := retryAfter(http.Header{c.name: {c.value}}, now); got != c.want {
			t.Errorf("%s %q: %v, want %v", c.name, c.value, got, c.want)
		}
	}
}

func TestPause(t *testing.T) {
	busy := &llm.Error{Temporary: true}
	for n, most := range []time.Duration{500 * time.Millisecond, time.Second, 2 * time.Second, 4 * time.Second, 8 * time.Second, 16 * time.Second} {
		low, high := time.Hour, time.Duration(0)
		for range 200 {
			wait, again := Config{}.pause(busy, n)
			if !again || wait < most/2 || wait > most {
				t.Fatalf("attempt %d: %v, %v", n, wait, again)
			}
			low, high = min(low, wait), max(high, wait)
		}
		if high-low < most/10 {
			t.Errorf("attempt %d: always between %v and %v", n, low, high)
		}
	}
	if _, again := (Config{}).pause(busy, 6); again {
		t.Error("never ends")
	}
	if wait, again := (Config{Retries: 100}).pause(busy, 90); !again || wait > longestStep {
		t.Errorf("%v, %v", wait, again)
	}
	for asked, again := range map[time.Duration]bool{time.Minute: true, time.Minute + 1: false} {
		wait, got := Config{}.pause(&llm.Error{Temporary: true, RetryAfter: asked}, 0)
		if got != again || got && (wait < asked || wait > asked+asked/10+1) {
			t.Errorf("asked for %v: %v, %v", asked, wait, got)
		}
	}
}

func TestIsTemporary(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{&llm.Error{Temporary: true}, true}, {&llm.Error{}, false}, {fmt.Errorf("%w: %w", errUnsent, io.EOF), true},
		{fmt.Errorf("%w: %w", errUnsent, syscall.ECONNRESET), true}, {fmt.Errorf("%w: %w", errUnsent, syscall.ECONNREFUSED), false},
		{fmt.Errorf("%w: %w", errUnsent, &net.DNSError{IsNotFound: true}), false}, {fmt.Errorf("%w: %w", errUnsent, &net.DNSError{IsTemporary: true}), true},
		{fmt.Errorf("%w: %w", errUnsent, &tls.CertificateVerificationError{Err: io.EOF}), false}, {fmt.Errorf("%w: %w", errUnsent, tls.RecordHeaderError{}), false},
		{errSilent, true}, {errors.New("content type"), false},
	} {
		if got := isTemporary(c.err); got != c.want {
			t.Errorf("%v: %v", c.err, got)
		}
	}
}

func TestSecret(t *testing.T) {
	const key = "sk-0123456789"
	c := Config{BaseURL: "https://me:password@api.test/v1", Key: key}
	marshalled, err := json.Marshal(struct{ Key Secret }{c.Key})
	if err != nil {
		t.Fatal(err)
	}
	var log strings.Builder
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "config", c, "key", c.Key)
	for _, text := range []string{fmt.Sprint(c), fmt.Sprintf("%v %+v %#v %s", c, c, c, c), fmt.Sprintf("%v %#v %q", c.Key, c.Key, c.Key), string(marshalled), log.String()} {
		if strings.Contains(text, key) || strings.Contains(text, "password") {
			t.Error(text)
		}
	}
}

func FuzzFailureIn(f *testing.F) {
	for _, s := range []string{`{"error":{"type":"a","message":"b","code":5}}`, `{"error":"x"}`, `{"error":[1]}`, `{"error":{"code":"x","message":"sk-0123456789"}}`} {
		f.Add([]byte(s))
	}
	c := Config{BaseURL: "http://h", Key: "sk-0123456789"}
	f.Fuzz(func(t *testing.T, body []byte) {
		failure := llm.FailureIn(body)
		if failure == nil {
			return
		}
		text := c.failure(400, "", failure).Error()
		if strings.Contains(text, string(c.Key)) || strings.ContainsAny(text, "\n\x1b\x00") || len(text) > 3000 || utf8.Valid(body) && !utf8.ValidString(text) {
			t.Fatalf("%q", text)
		}
	})
}
