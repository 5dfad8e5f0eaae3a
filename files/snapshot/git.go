package snapshot

import (
	"bufio"
	"bytes"
	"context"
	"crypto/sha1"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"hash"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"time"
)

// git reads commits and blobs of the repository in which a tree lies. A nil *git has none. The methods may be called concurrently.
//
// An agent can write to a repository's configuration, which names programs that git runs. So git runs only with the arguments and the
// environment of hardened, and only for commands that use no filters.
type git struct {
	top    string // the work tree's top level
	dir    string // its own .git directory
	common string // the .git directory that all work trees share
	prefix string // where the tree is below top: "" or "a/b/"
	size   int    // bytes of a name: 20, or 32 where the repository uses SHA-256

	mu    sync.Mutex
	head  string // the commit whose files are known; "": none
	known Refs
	cat   *catFile
	rest  time.Time // until then no object is asked for: git did not answer
}

// gitTime is how long git may take for an answer. An agent can put a pipe in the place of any file of a repository, at which git waits.
const gitTime = 20 * time.Second

// hardened returns the command that runs git without hooks, monitors, locks, and without fetching what a partial clone lacks.
func hardened(ctx context.Context, dir string, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", append([]string{
		"-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "core.pager=cat", "--no-optional-locks", "--no-pager", "--no-replace-objects",
	}, args...)...)
	cmd.Dir = dir
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			cmd.Env = append(cmd.Env, v)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_OPTIONAL_LOCKS=0", "GIT_TERMINAL_PROMPT=0", "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none", "LC_ALL=C")
	cmd.WaitDelay = 5 * time.Second
	return cmd
}

// Top returns the top of the git repository that a directory is in, or the directory itself.
func Top(dir string) string {
	for at := dir; ; at = filepath.Dir(at) {
		if _, err := os.Lstat(filepath.Join(at, ".git")); err == nil {
			return at
		}
		if at == filepath.Dir(at) {
			return dir
		}
	}
}

// ask returns what a command of git prints.
func ask(ctx context.Context, dir string, args ...string) ([]byte, error) {
	ctx, cancel := context.WithTimeout(ctx, gitTime)
	defer cancel()
	return hardened(ctx, dir, args...).Output()
}

// openGit returns the repository of a directory, or nil if there is none, or git is not there or refuses it.
func openGit(ctx context.Context, dir string) *git {
	out, err := ask(ctx, dir, "rev-parse", "--show-toplevel", "--absolute-git-dir", "--git-common-dir", "--show-prefix", "--show-object-format")
	lines := strings.Split(string(out), "\n")
	if err != nil || len(lines) < 5 {
		return nil
	}
	g := &git{top: lines[0], dir: lines[1], common: lines[2], prefix: lines[3], size: sha1.Size}
	if !filepath.IsAbs(g.common) {
		g.common = filepath.Join(dir, g.common)
	}
	if lines[4] == "sha256" {
		g.size = sha256.Size
	}
	return g
}

// follow takes a commit for the one whose files are known; "": none. It returns which blobs git may now remove at any time, because the commit does
// not have them where the one before had them. nil: none of them.
func (g *git) follow(ctx context.Context, commit string) (gone func(blob [32]byte) bool) {
	if g == nil {
		return nil
	}
	g.mu.Lock()
	before := g.head
	g.head = commit
	g.mu.Unlock()
	if before == "" || before == commit {
		return nil
	}
	all := func([32]byte) bool { return true }
	if commit == "" { // the repository is gone, or damaged
		return all
	}
	out, err := ask(ctx, g.top, "diff-tree", "-r", "--raw", "-z", "--no-renames", "--no-abbrev", before, commit, "--")
	if err != nil {
		return all
	}
	old := map[[32]byte]bool{}
	for field := range strings.SplitSeq(string(out), "\x00") { // ":100644 100644 OLD NEW M", path
		if f := strings.Fields(field); len(f) == 5 && strings.HasPrefix(field, ":") {
			var sum [32]byte
			if _, err := hex.Decode(sum[:], []byte(f[2])); err == nil {
				old[sum] = true
			}
		}
	}
	return func(blob [32]byte) bool { return old[blob] }
}

// gitTree has the blobs of one directory of the commit, by name.
type gitTree map[string][32]byte

// known reports whether the commit has the directory.
func (t gitTree) known() bool { return t != nil }

// tree returns the blobs of a directory of the tree, without those of the directories below it; nil if the commit does not have it.
func (g *git) tree(p string) gitTree {
	if g == nil || strings.ContainsAny(p, "\n") {
		return nil
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.head == "" {
		return nil
	}
	kind, data, err := g.object(g.head+":"+strings.TrimSuffix(g.prefix+p, "/"), 64<<20)
	if err != nil || kind != "tree" {
		return nil
	}
	t := gitTree{}
	for len(data) > 0 { // entries: mode, space, name, NUL, the name of the object
		head, rest, ok := bytes.Cut(data, []byte{0})
		mode, name, ok2 := bytes.Cut(head, []byte(" "))
		if !ok || !ok2 || len(rest) < g.size {
			return nil
		}
		if string(mode) == "100644" || string(mode) == "100755" {
			var sum [32]byte
			copy(sum[:], rest[:g.size])
			t[string(name)] = sum
		}
		data = rest[g.size:]
	}
	return t
}

// name returns the name of a blob in hex.
func (g *git) name(sum [32]byte) string { return hex.EncodeToString(sum[:g.size]) }

// sum returns the name that git gives to a content.
func (g *git) sum(data []byte) (sum [32]byte) {
	var h hash.Hash
	if h = sha1.New(); g.size == sha256.Size {
		h = sha256.New()
	}
	fmt.Fprintf(h, "blob %d\x00", len(data))
	h.Write(data)
	h.Sum(sum[:0])
	return sum
}

// blob returns the content of a blob.
func (g *git) blob(name string) ([]byte, error) {
	if g == nil {
		return nil, ErrGone
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	kind, data, err := g.object(name, maxContent)
	if err == nil && kind != "blob" {
		err = ErrGone
	}
	return data, err
}

// catFile is a running "git cat-file --batch".
type catFile struct {
	cmd *exec.Cmd
	in  io.WriteCloser
	out *bufio.Reader
}

// object asks for an object by a name of git. It starts the process again once if it has ended.
func (g *git) object(name string, limit int64) (kind string, data []byte, err error) {
	for range 2 {
		if time.Now().Before(g.rest) {
			return "", nil, errors.New("git does not answer")
		}
		if g.cat == nil {
			if g.cat, err = startCat(g.top); err != nil {
				return "", nil, err
			}
		}
		began, cat := time.Now(), g.cat
		late := time.AfterFunc(gitTime, func() { _ = cat.cmd.Process.Kill() })
		kind, data, err = cat.ask(name, limit)
		if late.Stop(); time.Since(began) > gitTime {
			g.rest = time.Now().Add(time.Minute)
		}
		if err == nil || errors.Is(err, ErrGone) {
			return kind, data, err
		}
		g.cat.close()
		g.cat = nil
	}
	return "", nil, err
}

func startCat(dir string) (*catFile, error) {
	cmd := hardened(context.Background(), dir, "cat-file", "--batch")
	in, err := cmd.StdinPipe()
	if err != nil {
		return nil, err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	return &catFile{cmd, in, bufio.NewReaderSize(out, 64<<10)}, nil
}

func (c *catFile) ask(name string, limit int64) (kind string, data []byte, err error) {
	if _, err := io.WriteString(c.in, name+"\n"); err != nil {
		return "", nil, err
	}
	line, err := c.out.ReadString('\n')
	if err != nil {
		return "", nil, err
	}
	fields := strings.Fields(line)
	if len(fields) < 3 || strings.HasSuffix(line, " missing\n") || strings.HasSuffix(line, " ambiguous\n") {
		return "", nil, ErrGone
	}
	size, err := strconv.ParseInt(fields[len(fields)-1], 10, 64)
	if err != nil || size < 0 {
		return "", nil, fmt.Errorf("git cat-file: unexpected answer %.80q", line)
	}
	if size > limit {
		_, err := c.out.Discard(int(size) + 1)
		return "", nil, errors.Join(err, ErrGone)
	}
	data = make([]byte, size+1)
	if _, err := io.ReadFull(c.out, data); err != nil {
		return "", nil, err
	}
	return fields[len(fields)-2], data[:size], nil
}

func (c *catFile) close() {
	_ = c.in.Close()
	_ = c.cmd.Process.Kill()
	_ = c.cmd.Wait()
}

func (g *git) close() {
	if g == nil {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.cat != nil {
		g.cat.close()
		g.cat = nil
	}
}
