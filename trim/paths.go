package trim

import (
	"path"
	"strings"
)

// keys normalises paths: all names of one file become one key. Results are
// cached. Without a root, absolute paths stay as they are.
type keys struct {
	root  string // cleaned, forward slashes, "" = unknown
	cache map[string]string
}

func newKeys(root string) *keys {
	k := &keys{cache: make(map[string]string)}
	k.setRoot(root)
	return k
}

// setRoot makes root the workspace. It is called before the first key.
func (k *keys) setRoot(root string) {
	if root != "" {
		k.root = cleanSlashes(root)
	}
}

// key returns the key of the path p as an agent wrote it, "" for a path that
// names nothing. A path inside the root becomes relative to it, one outside
// stays as it is; "./" and a trailing slash are dropped, "a/../b" resolved,
// backslashes become slashes. Letter case counts.
func (k *keys) key(p string) string {
	if v, ok := k.cache[p]; ok {
		return v
	}
	v := k.normalise(p)
	k.cache[strings.Clone(p)] = v
	return v
}

func (k *keys) normalise(p string) string {
	if strings.TrimSpace(p) == "" || strings.IndexByte(p, 0) >= 0 {
		return ""
	}
	c := cleanSlashes(p)
	if k.root == "" {
		return c
	}
	c = k.respell(c)
	if !absolute(c) {
		if !strings.HasPrefix(c, "../") && c != ".." {
			return c
		}
		c = path.Join(k.root, c)
	}
	if c == k.root {
		return "."
	}
	if rel, ok := strings.CutPrefix(c, strings.TrimSuffix(k.root, "/")+"/"); ok {
		return rel
	}
	return c
}

// respell returns a clean path as the root is spelled: "~/a" below the home directory that the root is in, "/tmp/a" as "/private/tmp/a"
// on a Mac, and "/c/a" as "C:/a" on Windows. There the letter case of the root's own names does not count.
func (k *keys) respell(c string) string {
	parts := strings.SplitN(k.root, "/", 4)
	rest, atHome := strings.CutPrefix(c, "~/")
	switch {
	case atHome && len(parts) > 3 && (parts[1] == "home" || parts[1] == "Users"):
		c = strings.Join(parts[:3], "/") + "/" + rest
	case atHome && strings.HasPrefix(k.root, "/root/"):
		c = "/root/" + rest
	case strings.HasPrefix(k.root, "/private/") && (strings.HasPrefix(c, "/tmp/") || strings.HasPrefix(c, "/var/")):
		c = "/private" + c
	}
	if n := len(k.root); drive(k.root) {
		for _, mount := range []string{"/mnt/", "/cygdrive/", "/"} {
			if rest, ok := strings.CutPrefix(c, mount+strings.ToLower(k.root[:1])+"/"); ok {
				c = k.root[:3] + rest
			}
		}
		if len(c) >= n && strings.EqualFold(c[:n], k.root) {
			c = k.root + c[n:]
		}
	}
	return c
}

// cleanSlashes cleans p with forward slashes; a drive letter is upper case,
// "//server/share" keeps both slashes, and "file:///a" is "/a".
func cleanSlashes(p string) string {
	p = strings.ReplaceAll(p, `\`, "/")
	if rest, ok := strings.CutPrefix(p, "file://"); ok && strings.HasPrefix(rest, "/") {
		p = rest
	}
	server := strings.HasPrefix(p, "//") && !strings.HasPrefix(p, "///")
	p = path.Clean(p)
	switch {
	case server:
		return "/" + p
	case len(p) == 2 && p[1] == ':':
		p += "/" // the root of a drive
	}
	if drive(p) && p[0] >= 'a' {
		p = string(p[0]-'a'+'A') + p[1:]
	}
	return p
}

func absolute(p string) bool { return strings.HasPrefix(p, "/") || drive(p) }

// drive reports whether p begins with a drive letter: "F:/…".
func drive(p string) bool {
	return len(p) >= 3 && p[1] == ':' && p[2] == '/' && (p[0]|0x20) >= 'a' && (p[0]|0x20) <= 'z'
}
