package web

import (
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/stet-dev/stet/test/webtest"
)

// browsers are a Push that keeps what it is given.
type browsers struct {
	mu sync.Mutex
	by map[string]string // the person and the endpoint, by login
}

func (b *browsers) Key() (string, error) { return "key", nil }

func (b *browsers) Add(login, person, endpoint, _, _ string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.by[login] = person + " " + endpoint
	return nil
}

func (b *browsers) Remove(login string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	delete(b.by, login)
	return nil
}

// all returns what is kept.
func (b *browsers) all() map[string]string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.by)
}

// A person's browser gets messages from the subscription until the button that ends them, the logout, or the end of the right. (GRD-1)
func TestSubscribe(t *testing.T) {
	h, known := newRig(t)
	kept := &browsers{by: map[string]string{}}
	h.Push = kept
	desk, guest := h.enter(t, "A"), h.enter(t, "G")
	if me := get[Me](guest, "/api/me"); !me.Push || get[PushKey](guest, "/api/push").Key != "key" {
		t.Errorf("offered: %+v", me)
	}
	service := webtest.NewPushService()
	for _, p := range []*page{desk, guest} {
		p.post("/api/push", service.Subscribe("", "https://push.example"), http.StatusOK)
	}
	logins := map[string]string{}
	for login, of := range kept.all() {
		person, _, _ := strings.Cut(of, " https://push.example/send/")
		logins[person] = login
	}
	if len(logins) != 2 {
		t.Fatalf("kept: %v", kept.all())
	}
	for _, c := range []struct {
		person             string
		native, may, known bool
	}{{"desk", true, true, true}, {"desk", false, true, true}, {"guest", true, false, true}, {"guest", false, true, true}} {
		if may, is := h.Reads(logins[c.person], c.native); may != c.may || is != c.known {
			t.Errorf("%+v: %t, %t", c, may, is)
		}
	}
	guest.post("/api/push/end", struct{}{}, http.StatusOK)
	if all := kept.all(); len(all) != 1 || all[logins["guest"]] != "" {
		t.Errorf("after the end: %v", all)
	}
	guest.post("/api/push", service.Subscribe("", "https://push.example"), http.StatusOK)
	desk.post("/api/logout", struct{}{}, http.StatusOK)
	if all := kept.all(); len(all) != 1 || all[logins["desk"]] != "" {
		t.Errorf("after the logout: %v", all)
	}
	known.mu.Lock()
	delete(known.by, "G")
	known.mu.Unlock()
	for _, login := range []string{logins["guest"], "", "x"} {
		if may, is := h.Reads(login, false); may || is {
			t.Errorf("%q without a right: %t, %t", login, may, is)
		}
	}
}

// A subscription that is none, or that leads to this machine or a private network, is refused where it enters.
func TestSubscribeRefused(t *testing.T) {
	without, _ := newRig(t)
	good := webtest.NewPushService().Subscribe("", "https://push.example")
	without.enter(t, "A").post("/api/push", good, http.StatusNotImplemented)
	h, _ := newRig(t)
	kept := &browsers{by: map[string]string{}}
	h.Push = kept
	desk := h.enter(t, "A")
	keys := good["keys"].(map[string]string)
	with := func(endpoint string, change func(keys map[string]string)) map[string]any {
		k := maps.Clone(keys)
		change(k)
		return map[string]any{"endpoint": endpoint, "keys": k}
	}
	same := func(map[string]string) {}
	for name, body := range map[string]any{
		"no address":       with("", same),
		"http":             with("http://push.example/x", same),
		"this machine":     with("https://localhost/x", same),
		"private by NAT64": with("https://[64:ff9b::10.0.0.1]/x", same),
		"a login":          with("https://me:secret@push.example/x", same),
		"a long address":   with("https://push.example/"+strings.Repeat("x", 2048), same),
		"no key":           with("https://push.example/x", func(k map[string]string) { k["p256dh"] = "" }),
		"no point":         with("https://push.example/x", func(k map[string]string) { k["p256dh"] = encode(append([]byte{4}, make([]byte, 64)...)) }),
		"a long key":       with("https://push.example/x", func(k map[string]string) { k["p256dh"] = strings.Repeat("A", 300) }),
		"a short secret":   with("https://push.example/x", func(k map[string]string) { k["auth"] = "AAAA" }),
		"no object":        "x",
	} {
		if said := desk.post("/api/push", body, http.StatusBadRequest); said == "" || strings.Contains(said, "secret@") {
			t.Errorf("%s: %q", name, said)
		}
	}
	if all := kept.all(); len(all) > 0 {
		t.Errorf("kept: %v", all)
	}
	for route, body := range map[string]any{"/api/push": good, "/api/push/end": struct{}{}} {
		if r := desk.do(http.MethodPost, route, body, func(r *http.Request) { r.Header.Del(proofHeader) }); r.StatusCode != http.StatusUnauthorized {
			t.Errorf("%s without a login: %s", route, r.Status)
		}
	}
}
