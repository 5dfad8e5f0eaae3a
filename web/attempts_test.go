package web

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/approval"
)

// door is a handler without a network, to try tokens on. It lets desk in by "A".
func door() (h *Handler, refused *[]string) {
	refused = new([]string)
	return &Handler{
		Queue:        new(approval.Queue),
		Authenticate: func(token string) (string, bool) { return "desk", token == "A" },
		Refused:      func(_ context.Context, address string) { *refused = append(*refused, address) },
	}, refused
}

// try logs in from an address.
func try(h *Handler, address, token string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(http.MethodPost, "http://127.0.0.1/api/login", strings.NewReader(`{"token":"`+token+`"}`))
	r.RemoteAddr = address
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

// get asks for something with the two halves of a login.
func (h *Handler) get(address, key, cookie string) int {
	r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1/api/questions", nil)
	r.RemoteAddr = address
	r.Header.Set(keyHeader, key)
	r.AddCookie(&http.Cookie{Name: cookieName(r), Value: cookie})
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// Tokens cannot be guessed one after the other: from one address only so many fail,
// and then so many a minute; a good one is as little looked at then.
func TestGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, refused := door()
		in := try(h, "192.0.2.1:5", "A")
		key, cookie := strings.Split(in.Body.String(), `"`)[7], strings.TrimPrefix(strings.SplitN(in.Header().Get("Set-Cookie"), ";", 2)[0], "stet=")
		for range 50 { // good ones count for nothing
			if w := try(h, "192.0.2.1:5", "A"); w.Code != http.StatusOK {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		for range badOfOne {
			if w := try(h, "192.0.2.1:6", "guess"); w.Code != http.StatusUnauthorized {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		for _, token := range []string{"guess", "A"} {
			w := try(h, "192.0.2.1:7", token)
			if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "too many logins have failed") {
				t.Errorf("%d %s", w.Code, w.Body)
			}
		}
		if w := try(h, "192.0.2.2:7", "A"); w.Code != http.StatusOK {
			t.Errorf("another address: %d %s", w.Code, w.Body)
		}
		if code := h.get("192.0.2.1:8", key, cookie); code != http.StatusOK {
			t.Errorf("who is in: %d", code)
		}
		if len(*refused) != badOfOne || (*refused)[0] != "192.0.2.1" {
			t.Errorf("told of %v", *refused)
		}
		after, err := strconv.Atoi(try(h, "192.0.2.1:7", "A").Header().Get("Retry-After"))
		if err != nil || after < 1 || after > 7 {
			t.Errorf("try again after %d s, %v", after, err)
		}
		time.Sleep(time.Duration(after) * time.Second)
		if w := try(h, "192.0.2.1:7", "A"); w.Code != http.StatusOK {
			t.Errorf("after %d s: %d %s", after, w.Code, w.Body)
		}
		time.Sleep(time.Hour)
		looked := 0
		for range 600 { // in ten minutes no more than in one, and ten times what a minute gives
			if try(h, "192.0.2.1:7", "guess").Code == http.StatusUnauthorized {
				looked++
			}
			time.Sleep(time.Second)
		}
		if most := badOfOne + 10*badOfOne; looked > most || looked < most-2 {
			t.Errorf("%d were looked at, want %d", looked, most)
		}
	})
}

// Many addresses are no way around it.
func TestGuessingFromEverywhere(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, refused := door()
		for i := range 3 * badOfAll {
			try(h, fmt.Sprintf("[2001:db8:%x::1]:1", i), "guess")
		}
		if len(*refused) != badOfAll {
			t.Errorf("%d were looked at", len(*refused))
		}
		if w := try(h, "192.0.2.9:1", "A"); w.Code != http.StatusTooManyRequests {
			t.Errorf("%d", w.Code)
		}
		time.Sleep(time.Minute)
		for i := range badOfOne + 1 { // all addresses of a network are one
			want := http.StatusUnauthorized
			if i == badOfOne {
				want = http.StatusTooManyRequests
			}
			if w := try(h, fmt.Sprintf("[2001:db8:ffff::%x]:1", i), "guess"); w.Code != want {
				t.Errorf("%d: %d", i, w.Code)
			}
		}
	})
}

// Nor is a cookie that somebody has sealed himself, around a guess.
func TestGuessingByCookie(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, refused := door()
		mine := make([]byte, 32)
		key := base64.RawURLEncoding.EncodeToString(mine)
		codes := map[int]int{}
		for i := range 30 {
			sealed, err := seal(mine, fmt.Sprint("guess", i))
			if err != nil {
				t.Fatal(err)
			}
			codes[h.get("192.0.2.1:1", key, sealed)]++
		}
		if codes[http.StatusUnauthorized] != badOfOne || codes[http.StatusTooManyRequests] != 30-badOfOne || len(*refused) != badOfOne {
			t.Errorf("%v, told of %d", codes, len(*refused))
		}
		sealed, err := seal(mine, "A")
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(time.Minute) // a login from before the server began anew holds
		for range 2 {
			if code := h.get("192.0.2.1:1", key, sealed); code != http.StatusOK {
				t.Errorf("%d", code)
			}
		}
	})
}

// A login is short.
func TestLongLogin(t *testing.T) {
	h, _ := door()
	if w := try(h, "192.0.2.1:1", strings.Repeat("A", maxLogin)); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
