package chat

import (
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/npm"
)

var update = flag.Bool("update", false, "write what the screens are into testdata")

// patience is the longest time until a screen shows what it must. It is long because of machines under load. A test waits so long
// only if it fails.
var patience = flag.Duration("patience", 2*time.Minute, "how long a screen may take")

// stet is the binary under test.
var stet string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	why := ""
	if _, err := exec.LookPath("tmux"); err != nil {
		why = "tmux is not installed"
	}
	if testing.Short() || os.Getenv("STET_E2E") == "off" {
		why = "switched off"
	}
	if why != "" {
		if npm.Required() {
			fmt.Fprintln(os.Stderr, "the chat tests are required, but cannot run:", why)
			return 1
		}
		fmt.Println("skipped:", why)
		return 0
	}
	dir, err := os.MkdirTemp("", "stet-chat-")
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	defer os.RemoveAll(dir)
	stet = filepath.Join(dir, "stet")
	if out, err := exec.Command("go", "build", "-o", stet, "../../cmd/stet").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "build stet: %v\n%s", err, out)
		return 1
	}
	return m.Run()
}

// terminal is a tmux terminal with a shell in a workspace of its own.
type terminal struct {
	t      *testing.T
	socket string
	dir    string // the workspace
	env    []string
}

// open opens a terminal with so many columns and lines.
func open(t *testing.T, columns, lines int, env ...string) *terminal {
	t.Helper()
	home, err := os.MkdirTemp("", "stet-chat-") // the name of a socket must be short
	if err != nil {
		t.Fatal(err)
	}
	term := &terminal{t: t, socket: filepath.Join(home, "s"), dir: filepath.Join(home, "project")}
	t.Cleanup(func() {
		_ = term.tmux("kill-server").Run() // it may have ended
		// When the terminal ends, its programs get a hangup. They may still write files while they end.
		err := os.RemoveAll(home)
		for end := time.Now().Add(*patience); err != nil && time.Now().Before(end); err = os.RemoveAll(home) {
			time.Sleep(20 * time.Millisecond)
		}
		if err != nil {
			t.Error(err)
		}
	})
	if err := os.Mkdir(term.dir, 0o700); err != nil {
		t.Fatal(err)
	}
	term.env = append([]string{
		"PATH=" + filepath.Dir(stet) + string(os.PathListSeparator) + os.Getenv("PATH"), "HOME=" + home, "LANG=C.UTF-8", "TZ=UTC", "PS1=$ ",
		"ENV=", "TMPDIR=" + home, "EDITOR=true",
	}, env...)
	size := []string{"-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines)}
	term.do(append([]string{"new-session", "-d", "-c", term.dir}, append(size, "sh")...)...)
	term.do("set-option", "-g", "history-limit", "5000")
	term.do("set-option", "-g", "escape-time", "0")
	term.do("set-option", "-g", "status", "off")
	return term
}

func (term *terminal) tmux(args ...string) *exec.Cmd {
	cmd := exec.Command("tmux", append([]string{"-u", "-f", "/dev/null", "-S", term.socket}, args...)...)
	cmd.Env, cmd.Dir = term.env, term.dir
	return cmd
}

func (term *terminal) do(args ...string) string {
	term.t.Helper()
	out, err := term.tmux(args...).CombinedOutput()
	if err != nil {
		term.t.Fatalf("tmux %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return string(out)
}

// types types text, and then keys by their tmux names.
func (term *terminal) types(text string, keys ...string) {
	term.t.Helper()
	if text != "" {
		term.do("send-keys", "-l", "--", text)
	}
	if len(keys) > 0 {
		term.do(append([]string{"send-keys"}, keys...)...)
	}
}

// sends sends bytes unchanged.
func (term *terminal) sends(bytes string) {
	term.t.Helper()
	args := []string{"send-keys", "-H"}
	for i := range len(bytes) {
		args = append(args, fmt.Sprintf("%02x", bytes[i]))
	}
	term.do(args...)
}

// screen returns what the terminal shows.
func (term *terminal) screen() string { return steady(term.do("capture-pane", "-p")) }

// above returns what the terminal shows and what has scrolled away.
func (term *terminal) above() string {
	return steady(term.do("capture-pane", "-p", "-J", "-S", "-5000"))
}

var (
	passing  = regexp.MustCompile(` · \d+(m\d+)?s\b|(working|stopping|compacting) \d+(m\d+)?s`)
	spinning = regexp.MustCompile(`[⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏] `)
	counted  = regexp.MustCompile(`[▰▱]+ \d+% of| · mostly [a-z]+( [a-z]+)*|[\d.]+[kM]? tokens`) // the lengths of paths differ, and change these counts
	ids      = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}(-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12})?`)
)

// steady removes from a screen what differs in every run.
func steady(screen string) string {
	screen = passing.ReplaceAllStringFunc(screen, func(s string) string {
		if strings.HasPrefix(s, " · ") {
			return ""
		}
		word, _, _ := strings.Cut(s, " ")
		return word
	})
	screen = spinning.ReplaceAllString(screen, "* ")
	screen = counted.ReplaceAllStringFunc(screen, func(s string) string {
		if strings.HasPrefix(s, " · most") {
			return "" // it is shown only if there is room
		}
		_, unit, _ := strings.Cut(s, " ")
		return "N " + unit[strings.LastIndexByte(unit, ' ')+1:]
	})
	screen = ids.ReplaceAllString(screen, "<session>")
	lines := strings.Split(strings.Trim(screen, "\n "), "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

// wait waits until the screen shows all of the texts.
func (term *terminal) wait(texts ...string) {
	term.t.Helper()
	term.until(fmt.Sprintf("%q", texts), term.screen, func(screen string) bool {
		for _, text := range texts {
			if !strings.Contains(screen, text) {
				return false
			}
		}
		return true
	})
}

// gone waits until the screen no longer shows a text.
func (term *terminal) gone(text string) {
	term.t.Helper()
	term.until("no "+text, term.screen, func(screen string) bool { return !strings.Contains(screen, text) })
}

// until waits until good accepts what look returns.
func (term *terminal) until(what string, look func() string, good func(string) bool) {
	term.t.Helper()
	for deadline := time.Now().Add(*patience); ; time.Sleep(20 * time.Millisecond) {
		seen := look()
		if good(seen) {
			return
		}
		if time.Now().After(deadline) {
			term.t.Fatalf("never shown: %s. The screen is\n%s", what, seen)
		}
	}
}

// chat starts stet chat, and waits until it is ready.
func (term *terminal) chat(args string) {
	term.t.Helper()
	term.types("clear", "Enter") // removes the output of an earlier chat
	term.gone("›")
	term.types("clear; stet chat --model scripted "+args, "Enter")
	term.wait("›")
}

// resize changes the terminal's size.
func (term *terminal) resize(columns, lines int) {
	term.t.Helper()
	term.do("resize-window", "-x", strconv.Itoa(columns), "-y", strconv.Itoa(lines))
}

// kill ends the program in the terminal with SIGKILL, and opens a new one.
func (term *terminal) kill() {
	term.t.Helper()
	shell := strings.TrimSpace(term.do("display-message", "-p", "#{pane_pid}"))
	out, err := exec.Command("ps", "-o", "pid=", "--ppid", shell).Output()
	if err != nil {
		term.t.Fatal(err)
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(out)))
	if err != nil {
		term.t.Fatal(err)
	}
	program, err := os.FindProcess(pid)
	if err != nil {
		term.t.Fatal(err)
	}
	if err := program.Kill(); err != nil {
		term.t.Fatal(err)
	}
	term.do("respawn-pane", "-k", "-c", term.dir, "sh")
}

// file returns the content of a file of the workspace.
func (term *terminal) file(name string) string {
	term.t.Helper()
	b, err := os.ReadFile(filepath.Join(term.dir, name))
	if err != nil {
		term.t.Fatal(err)
	}
	return string(b)
}
