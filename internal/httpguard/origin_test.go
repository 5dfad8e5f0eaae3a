package httpguard

import (
	"crypto/tls"
	"net/http"
	"net/netip"
	"strings"
	"testing"
	"unicode/utf8"
)

// asked returns a request as a server gets it. header has names and values in turn; a repeated name is a repeated header.
func asked(host string, header ...string) *http.Request {
	r := &http.Request{Method: http.MethodGet, Host: host, Header: http.Header{}}
	for i := 0; i < len(header); i += 2 {
		r.Header.Add(header[i], header[i+1])
	}
	return r
}

// A name that was rebound to this address is refused, whatever its form.
func TestHost(t *testing.T) {
	c := Check{Hosts: []string{"box.example", "port.example:8443", "2001:db8::1", "[2001:db8::2]:80", "10.0.0.5"}}
	for host, want := range map[string]bool{
		"127.0.0.1": true, "127.0.0.1:4141": true, "localhost": true, "LOCALHOST:1": true, "[::1]": true, "[::1]:4141": true,
		"127.0.0.2:1": true, "[::ffff:127.0.0.1]:1": true, "[0:0:0:0:0:0:0:1]": true,
		"box.example": true, "Box.Example:99": true, "port.example:8443": true, "10.0.0.5:1": true,
		"[2001:db8::1]": true, "[2001:DB8::1]:99": true, "[2001:db8::2]:80": true,

		"": false, ":80": false, "evil.example": false, "evil.example:80": false, "192.0.2.1": false, "0.0.0.0": false, "[::]": false,
		"localhost.evil.example": false, "127.0.0.1.evil.example": false, "evil.example.localhost": false, "localhost.": false, "127.0.0.1.": false,
		"box.example.evil": false, "evil-box.example": false, "port.example": false, "port.example:80": false, "[2001:db8::2]:81": false, "[2001:db8::3]": false,
		"127.1": false, "2130706433": false, "0x7f000001": false, "017700000001": false, "[::1": false, "::1": false, "[localhost]": false, "[127.0.0.1]": false,
		"[::1%25lo]": false, "[::1%lo]": false, "localhost:x": false, "localhost:1:2": false, "evil@localhost": false, "localhost/@evil": false,
		"localhost#.evil.example": false, "localhost?": false, "localhost ": false, "localhost\x00": false, "%6cocalhost": false, "\xff": false,
	} {
		if why := c.Refusal(asked(host)); (why == "") != want {
			t.Errorf("%q: %q", host, why)
		}
	}
	if why := (Check{}).Refusal(asked("box.example")); !strings.Contains(why, `"box.example" is not allowed`) {
		t.Error(why)
	}
	if why := c.Refusal(asked("a\x1b[31m" + strings.Repeat("é", 5000))); len(why) > 1000 || strings.Contains(why, "\x1b") || !utf8.ValidString(why) {
		t.Errorf("%q", why)
	}
}

// A page of another origin is refused, also if one header hides another. (hazards)
func TestOrigin(t *testing.T) {
	c := Check{Hosts: []string{"box.example"}}
	for _, test := range []struct {
		what string
		r    *http.Request
		want bool
	}{
		{"none: no browser", asked("127.0.0.1:1"), true},
		{"our own", asked("127.0.0.1:1", "Origin", "http://127.0.0.1:1"), true},
		{"in other letters", asked("Box.example", "Origin", "http://BOX.example"), true},
		{"behind a proxy with TLS", asked("box.example", "Origin", "https://box.example"), true},
		{"IPv6", asked("[::1]:80", "Origin", "http://[::1]:80"), true},
		{"twice our own", asked("127.0.0.1:1", "Origin", "http://127.0.0.1:1", "Origin", "http://127.0.0.1:1"), true},
		{"another port", asked("127.0.0.1:1", "Origin", "http://127.0.0.1:2"), false},
		{"no port", asked("127.0.0.1:1", "Origin", "http://127.0.0.1"), false},
		{"another name of this machine", asked("127.0.0.1:1", "Origin", "http://localhost:1"), false},
		{"another site", asked("127.0.0.1:1", "Origin", "https://evil.example"), false},
		{"another after ours", asked("127.0.0.1:1", "Origin", "http://127.0.0.1:1", "Origin", "http://evil.example"), false},
		{"ours after another", asked("127.0.0.1:1", "Origin", "http://evil.example", "Origin", "http://127.0.0.1:1"), false},
		{"both in one", asked("127.0.0.1:1", "Origin", "http://evil.example http://127.0.0.1:1"), false},
		{"null", asked("127.0.0.1:1", "Origin", "null"), false},
		{"empty", asked("127.0.0.1:1", "Origin", ""), false},
		{"not a URL", asked("127.0.0.1:1", "Origin", "://"), false},
		{"an extension", asked("127.0.0.1:1", "Origin", "chrome-extension://127.0.0.1:1"), false},
		{"a path", asked("127.0.0.1:1", "Origin", "http://127.0.0.1:1/"), false},
		{"a file", asked("127.0.0.1:1", "Origin", "file://"), false},
		{"ours for a user", asked("127.0.0.1:1", "Origin", "http://127.0.0.1:1@evil.example"), false},
		{"another's user", asked("127.0.0.1:1", "Origin", "http://evil.example@127.0.0.1:1"), false},
		{"rebound, with itself as the origin", asked("evil.example", "Origin", "http://evil.example"), false},
	} {
		if why := c.Refusal(test.r); (why == "") != test.want {
			t.Errorf("%s: %q", test.what, why)
		}
	}
	for origin, want := range map[string]bool{"https://box.example": true, "http://box.example": false} {
		r := asked("box.example", "Origin", origin)
		r.TLS = &tls.ConnectionState{}
		if why := c.Refusal(r); (why == "") != want {
			t.Errorf("%s over TLS: %q", origin, why)
		}
	}
}

// The header of the browser about the page that caused the request.
func TestSite(t *testing.T) {
	link := []string{"Sec-Fetch-Mode", "navigate", "Sec-Fetch-Dest", "document"}
	for site, want := range map[string]bool{
		"": true, "same-origin": true, "none": true, "cross-site": false, "same-site": false, "unknown": false,
	} {
		r := asked("localhost", "Sec-Fetch-Site", site)
		if why := (Check{}).Refusal(r); (why == "") != want {
			t.Errorf("%q: %q", site, why)
		}
		if why := (Check{Links: true}).Refusal(r); (why == "") != want {
			t.Errorf("%q, not a link: %q", site, why)
		}
		r = asked("localhost", append(link, "Sec-Fetch-Site", site)...)
		if why := (Check{Links: true}).Refusal(r); why != "" {
			t.Errorf("%q, a link: %q", site, why)
		}
		if why := (Check{}).Refusal(r); (why == "") != want {
			t.Errorf("%q, a link where there are no pages: %q", site, why)
		}
	}
	twice := asked("localhost", "Sec-Fetch-Site", "none", "Sec-Fetch-Site", "cross-site")
	if (Check{}).Refusal(twice) == "" {
		t.Error("the second header was not looked at")
	}
	for what, change := range map[string]func(*http.Request){
		"a form":    func(r *http.Request) { r.Method = http.MethodPost },
		"a frame":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Dest", "iframe") },
		"a fetch":   func(r *http.Request) { r.Header.Set("Sec-Fetch-Mode", "no-cors") },
		"an Origin": func(r *http.Request) { r.Header.Set("Origin", "http://evil.example") },
		"rebound":   func(r *http.Request) { r.Host = "evil.example" },
	} {
		r := asked("localhost", append(link, "Sec-Fetch-Site", "cross-site")...)
		change(r)
		if (Check{Links: true}).Refusal(r) == "" {
			t.Errorf("%s was let in", what)
		}
	}
}

// For any headers, only our own pages and programs are served.
func FuzzRefusal(f *testing.F) {
	f.Add("localhost", "http://localhost", "same-origin")
	f.Add("[::1]:1", "null", "none")
	f.Fuzz(func(t *testing.T, host, origin, site string) {
		r := asked(host, "Origin", origin, "Sec-Fetch-Site", site)
		if (Check{}).Refusal(r) != "" {
			return
		}
		bare := strings.ToLower(host)
		if i := strings.LastIndexByte(bare, ':'); i >= 0 && !strings.HasSuffix(bare, "]") {
			bare = bare[:i]
		}
		if bare != "localhost" && !strings.HasPrefix(bare, "127.") && !strings.HasPrefix(bare, "[") {
			t.Errorf("host %q", host)
		}
		if origin = strings.ToLower(origin); origin != "http://"+strings.ToLower(host) && origin != "https://"+strings.ToLower(host) {
			t.Errorf("host %q, origin %q", host, origin)
		}
	})
}

// An address that leads to a private one inside another form of address is private, too.
func TestPublic(t *testing.T) {
	for public, all := range map[bool]string{
		true: "8.8.8.8 ::ffff:8.8.8.8 2606:4700::1111 64:ff9b::8.8.8.8 2002:808:808::1",
		false: "127.0.0.1 10.1.2.3 192.168.1.1 ::ffff:10.1.2.3 100.64.0.1 169.254.169.254 0.0.0.0 224.0.0.1 255.255.255.255 :: ::1 fe80::1%eth0 fd00::1 fec0::1 ff02::1 " +
			"64:ff9b::10.1.2.3 64:ff9b::127.0.0.1 64:ff9b::100.64.0.1 64:ff9b:1::8.8.8.8 2002:a01:203::1 2002:7f00:1::1 ::10.1.2.3 2001:0:808:808::1",
	} {
		for text := range strings.FieldsSeq(all) {
			if ip := netip.MustParseAddr(text); Public(ip) != public {
				t.Errorf("%s: public is %t", ip, !public)
			}
		}
	}
}
