package web

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"io/fs"
	"mime"
	"net/http"
	"path"
	"strings"
	"sync"
)

//go:generate npm --prefix ui ci --prefer-offline
//go:generate go test -run TestTypes . -update
//go:generate npm --prefix ui run build

// dist is the UI built by "npm run build" in ui. It is committed, so that "go build" and "go install" need no npm. A test fails if
// it was not built from the sources next to it.
//
//go:embed dist
var dist embed.FS

// asset is a file of the UI.
type asset struct {
	plain, packed []byte
	kind          string // Content-Type
	tag           string // ETag
	forever       bool   // its name has a hash in it
}

// assets are all files of the UI, by their paths in a URL.
var assets = sync.OnceValue(func() map[string]asset {
	all := map[string]asset{}
	_ = fs.WalkDir(dist, "dist", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := dist.ReadFile(name)
		if err != nil {
			return err
		}
		at := strings.TrimPrefix(name, "dist")
		sum := sha256.Sum256(data)
		all[at] = asset{
			plain: data, packed: pack(data), kind: kindOf(at),
			tag: `"` + hex.EncodeToString(sum[:8]) + `"`, forever: strings.HasPrefix(at, "/assets/"),
		}
		return nil
	}) // an embedded file system has no errors
	all["/"] = all["/index.html"]
	return all
})

func kindOf(name string) string {
	switch ext := path.Ext(name); ext {
	case ".js":
		return "text/javascript; charset=utf-8"
	case ".md":
		return "text/plain; charset=utf-8" // which browsers show
	default:
		return mime.TypeByExtension(ext)
	}
}

func pack(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestCompression) // the level is valid
	_, _ = w.Write(data)                                  // a buffer does not fail
	_ = w.Close()
	return b.Bytes()
}

// built serves the UI. There is one page. The view is in the fragment, which is never sent.
func built() http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		a, ok := assets()[r.URL.Path]
		if !ok || r.Method != http.MethodGet && r.Method != http.MethodHead {
			http.NotFound(w, r)
			return
		}
		head := w.Header()
		head.Set("Content-Type", a.kind)
		head.Set("ETag", a.tag)
		head.Set("Vary", "Accept-Encoding")
		head.Set("Cache-Control", "no-cache")
		if a.forever {
			head.Set("Cache-Control", "public, max-age=31536000, immutable")
		}
		if r.Header.Get("If-None-Match") == a.tag {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		body := a.plain
		if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") && len(a.packed) < len(a.plain) {
			head.Set("Content-Encoding", "gzip")
			body = a.packed
		}
		_, _ = w.Write(body) // a client that has gone needs no answer
	})
}
