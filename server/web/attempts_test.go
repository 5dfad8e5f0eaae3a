package web

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
)

// loginHandler returns a handler without a network, for trying tokens. It accepts "A" as the token of desk.
func loginHandler() (h *Handler, refused *[]string) {
	refused = new([]string)
	return &Handler{
		Queue:        new(approval.Queue),
		Authenticate: func(token string) (Person, bool) { return Person{ID: "1", Name: "desk"}, token == "A" },
		Holds:        func(id string) (Person, bool) { return Person{ID: id, Name: "desk"}, id == "1" },
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

// An address may try a number of wrong tokens at once, and then a number in every minute. These are recorded, and more are
// refused. A right token is always accepted. (FILE-6)
func TestGuessing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, refused := loginHandler()
		for range badOfOne {
			if w := try(h, "192.0.2.1:6", "guess"); w.Code != http.StatusUnauthorized {
				t.Fatalf("%d %s", w.Code, w.Body)
			}
		}
		w := try(h, "192.0.2.1:7", "guess")
		if w.Code != http.StatusTooManyRequests || !strings.Contains(w.Body.String(), "too many logins have failed") {
			t.Errorf("%d %s", w.Code, w.Body)
		}
		after, err := strconv.Atoi(w.Header().Get("Retry-After"))
		if err != nil || after < 1 || after > 61 {
			t.Errorf("try again after %d s, %v", after, err)
		}
		if w := try(h, "192.0.2.1:7", "A"); w.Code != http.StatusOK {
			t.Errorf("a right token: %d %s", w.Code, w.Body)
		}
		if len(*refused) != badOfOne || (*refused)[0] != "192.0.2.1" {
			t.Errorf("told of %v", *refused)
		}
		time.Sleep(time.Hour)
		looked := 0
		for range 600 { // in ten minutes ten times what a minute gives
			if try(h, "192.0.2.1:7", "guess").Code == http.StatusUnauthorized {
				looked++
			}
			time.Sleep(time.Second)
		}
		if most := 10 * badOfOne; looked > most || looked < most-2 {
			t.Errorf("%d were noted, want %d", looked, most)
		}
	})
}

// Using many addresses does not avoid the limit.
func TestGuessingFromManyAddresses(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		h, refused := loginHandler()
		for i := range 3 * badOfAll {
			try(h, fmt.Sprintf("[2001:db8:%x::1]:1", i), "guess")
		}
		if len(*refused) != badOfAll {
			t.Errorf("%d were noted", len(*refused))
		}
		if w := try(h, "192.0.2.9:1", "A"); w.Code != http.StatusOK {
			t.Errorf("a right token: %d", w.Code)
		}
		time.Sleep(time.Minute)
		for i := range badOfOne + 1 { // all addresses of a network count as one
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

// The body of a login is limited.
func TestLongLogin(t *testing.T) {
	h, _ := loginHandler()
	if w := try(h, "192.0.2.1:1", strings.Repeat("A", maxOpen)); w.Code != http.StatusBadRequest {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}
