package web

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// The committed UI was built from the sources next to it, and not changed since.
func TestBuilt(t *testing.T) {
	noted, err := os.ReadFile("ui/built.sum")
	if err != nil {
		t.Fatal(err)
	}
	have := fmt.Sprintf("sources %s\ndist %s\n",
		sum(t, "ui", "index.html", "package-lock.json", "public", "src", "vite.config.ts"), sum(t, "dist", "."))
	if string(noted) != have {
		t.Errorf("ui/built.sum has\n%s\nbut there is\n%s\nrun: npm --prefix web/ui run build", noted, have)
	}
}

// sum returns the hash in vite.config.ts: over the names and contents of files.
func sum(t *testing.T, dir string, roots ...string) string {
	t.Helper()
	var names []string
	for _, root := range roots {
		err := fs.WalkDir(os.DirFS(dir), root, func(name string, d fs.DirEntry, err error) error {
			if err == nil && !d.IsDir() {
				names = append(names, name)
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	slices.Sort(names)
	all := sha256.New()
	for _, name := range names {
		data, err := os.ReadFile(dir + "/" + name)
		if err != nil {
			t.Fatal(err)
		}
		one := sha256.Sum256(data)
		_, _ = fmt.Fprintf(all, "%s %s\n", name, hex.EncodeToString(one[:]))
	}
	return hex.EncodeToString(all.Sum(nil))
}

var (
	linked = regexp.MustCompile(`(?:src|href)="([^"]*)"`)
	inline = regexp.MustCompile(`(?i)<script(?:>| [^>]*>)[^<]|<style| on[a-z]+=| style=`)
)

// A browser first loads at most 150 KB, and the page needs nothing that its policy forbids.
func TestSizeOfPage(t *testing.T) {
	index := assets()["/"]
	if found := inline.Find(index.plain); found != nil {
		t.Errorf("the page has something inline: %s", found)
	}
	weight := len(index.packed)
	for _, m := range linked.FindAllSubmatch(index.plain, -1) {
		a, ok := assets()[string(m[1])]
		if !ok {
			t.Errorf("the page links to %s, which is not there", m[1])
		}
		weight += len(a.packed)
	}
	if weight < 10_000 || weight > 150_000 {
		t.Errorf("the page weighs %d bytes", weight)
	}
	t.Logf("%d bytes in gzip", weight)
}

// Files with a hash in their names may be cached without limit, the page never. Both are compressed, and not sent to a client that
// has them.
func TestCaching(t *testing.T) {
	h, _ := newRig(t)
	p := h.enter(t, "A")
	script := ""
	for name := range assets() {
		if strings.HasPrefix(name, "/assets/") && strings.HasSuffix(name, ".js") {
			script = name
		}
	}
	for path, want := range map[string]string{"/": "no-cache", "/favicon.svg": "no-cache", "/worker.js": "no-cache", script: "public, max-age=31536000, immutable"} {
		r := p.do(http.MethodGet, path, nil, nil)
		if r.StatusCode != http.StatusOK || r.Header.Get("Cache-Control") != want || !r.Uncompressed && path == script {
			t.Errorf("%s: %s, %v", path, r.Status, r.Header)
		}
		again := p.do(http.MethodGet, path, nil, func(q *http.Request) { q.Header.Set("If-None-Match", r.Header.Get("ETag")) })
		if again.StatusCode != http.StatusNotModified {
			t.Errorf("%s again: %s", path, again.Status)
		}
	}
	for method, path := range map[string]string{http.MethodGet: "/../handler.go", http.MethodDelete: "/"} {
		if r := p.do(method, path, nil, nil); r.StatusCode != http.StatusNotFound {
			t.Errorf("%s %s: %s", method, path, r.Status)
		}
	}
}
