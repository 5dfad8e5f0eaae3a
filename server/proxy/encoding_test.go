package proxy_test

import (
	"bytes"
	"compress/gzip"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/google/go-cmp/cmp"
	"github.com/klauspost/compress/zstd"

	"github.com/stet-dev/stet/server/proxy"
)

// codings has a writer and a reader for each content coding.
var codings = map[string]struct {
	writer func(io.Writer) io.WriteCloser
	reader func(io.Reader) (io.Reader, error)
}{
	"gzip": {
		func(w io.Writer) io.WriteCloser { return gzip.NewWriter(w) },
		func(r io.Reader) (io.Reader, error) { return gzip.NewReader(r) },
	},
	"zstd": {
		func(w io.Writer) io.WriteCloser { z, _ := zstd.NewWriter(w); return z },
		func(r io.Reader) (io.Reader, error) { return zstd.NewReader(r, zstd.WithDecoderConcurrency(1)) },
	},
	"br": {
		func(w io.Writer) io.WriteCloser { return brotli.NewWriter(w) },
		func(r io.Reader) (io.Reader, error) { return brotli.NewReader(r), nil },
	},
}

func compress(t testing.TB, coding string, text io.Reader) string {
	t.Helper()
	var out bytes.Buffer
	w := codings[coding].writer(&out)
	if _, err := io.Copy(w, text); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func decompress(t testing.TB, coding string, body []byte) string {
	t.Helper()
	r, err := codings[coding].reader(bytes.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(r)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// zeros is an endless text of one repeated byte.
type zeros struct{}

func (zeros) Read(b []byte) (int, error) {
	clear(b)
	return len(b), nil
}

// A compressed body is planned like its text. Unchanged, it goes upstream byte for byte; changed, in the same coding (WIRE-5).
func TestEncodings(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up)
	body := conversation("hi", 3)
	r.post("/v1/messages", body)
	want := string(up.last(t).body)
	if want == body {
		t.Fatal("nothing was left out")
	}
	n := 1
	for coding := range codings {
		for _, unknownLength := range []bool{false, true} {
			for _, c := range []struct{ body, want string }{{body, want}, {conversation("hi", 1), conversation("hi", 1)}} {
				sent := compress(t, coding, strings.NewReader(c.body))
				var from io.Reader = strings.NewReader(sent)
				if unknownLength {
					from = struct{ io.Reader }{from}
				}
				status, _, _ := r.do("POST", "/v1/messages", from, "Content-Encoding", coding)
				n++
				got := up.last(t)
				if status != 200 || got.header.Get("Content-Encoding") != coding || got.length != int64(len(got.body)) {
					t.Errorf("%s: %d, length %d, %v", coding, status, got.length, got.header)
				}
				if diff := cmp.Diff(c.want, decompress(t, coding, got.body)); diff != "" {
					t.Error(coding, diff)
				}
				if c.body == c.want && string(got.body) != sent {
					t.Errorf("%s: an unchanged body was encoded again", coding)
				}
			}
		}
	}
	rows := r.rows()
	if len(rows) != n {
		t.Fatalf("%d rows", len(rows))
	}
	for _, row := range rows {
		if row.Passed != "" || row.BytesIn != int64(len(body)) && row.BytesIn != int64(len(conversation("hi", 1))) || row.BytesOut > row.BytesIn {
			t.Errorf("row %+v", row)
		}
	}
}

// A body that cannot be decoded in bounded memory is sent untouched, and is not an error of the proxy (WIRE-5).
func TestBombs(t *testing.T) {
	up := &recorder{}
	r := newRig(t, up, func(c *proxy.Config) { c.MaxBody = 1 << 20 })
	var wide bytes.Buffer // its references may point far back
	z, _ := zstd.NewWriter(&wide, zstd.WithWindowSize(64<<20), zstd.WithSingleSegment(false))
	_, _ = io.WriteString(z, conversation("hi", 3))
	_ = z.Flush() // otherwise the frame would state its size
	_ = z.Close()
	whole := compress(t, "gzip", strings.NewReader(conversation("hi", 3)))
	want := map[string]int{}
	for _, c := range []struct{ name, coding, body, passed string }{
		{"gzip", "gzip", compress(t, "gzip", io.LimitReader(zeros{}, 64<<20)), "large"},
		{"zstd", "zstd", compress(t, "zstd", io.LimitReader(zeros{}, 256<<20)), "large"},
		{"br", "br", compress(t, "br", io.LimitReader(zeros{}, 64<<20)), "large"},
		{"window", "zstd", wide.String(), "encoded"},
		{"cut", "gzip", whole[:len(whole)/2], "encoded"},
		{"two codings", "gzip, zstd", whole, "encoded"},
		{"unknown", "snappy", "x", "encoded"},
		{"empty", "zstd", "", "malformed"},
		{"no coding", "gzip", conversation("hi", 3), "encoded"},
	} {
		status, _, _ := r.do("POST", "/v1/messages", strings.NewReader(c.body), "Content-Encoding", c.coding)
		if got := up.last(t); status != 200 || string(got.body) != c.body || got.header.Get("Content-Encoding") != c.coding {
			t.Errorf("%s: %d, %d bytes for %d", c.name, status, len(got.body), len(c.body))
		}
		want[c.passed]++
	}
	got := map[string]int{}
	for _, row := range r.rows() {
		got[row.Passed]++
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

// Many compressed bodies are sent at once: whole, cut, and changed at random. Each is answered. What arrives has the text that
// was sent, or the planned text.
func TestEncodingsAtOnce(t *testing.T) {
	var mu sync.Mutex
	bad := 0
	up := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil || r.Header.Get("Whole") != "" && !strings.Contains(decompress(t, r.Header.Get("Content-Encoding"), body), r.Header.Get("Whole")) {
			mu.Lock()
			bad++
			mu.Unlock()
		}
		_, _ = io.WriteString(w, "{}")
	})
	r := newRig(t, up)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			random := rand.New(rand.NewPCG(1, uint64(i)))
			for n := range 6 {
				for coding := range codings {
					name := fmt.Sprintf("client-%d-%d", i, n)
					body, whole := compress(t, coding, strings.NewReader(conversation(name, n))), name
					if random.IntN(3) == 0 {
						body, whole = body[:random.IntN(len(body))], ""
					}
					if status, _, _ := r.do("POST", "/v1/messages", strings.NewReader(body), "Content-Encoding", coding, "Whole", whole); status != 200 {
						t.Errorf("%s: %d", name, status)
					}
				}
			}
		})
	}
	group.Wait()
	if bad > 0 {
		t.Errorf("%d bodies arrived otherwise", bad)
	}
}
