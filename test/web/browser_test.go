package web

import (
	"bufio"
	"context"
	"errors"
	"flag"
	"fmt"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stet-dev/stet/test/npm"
)

var (
	serve    = flag.Bool("serve", false, "keep the server of the flows running until the test is interrupted")
	pictures = flag.String("pictures", "", "draw the pictures of the documentation into this directory")
	every    = flag.Bool("every", false, "with -pictures: draw every view")
)

// browser is a Chromium that all flows share.
type browser struct {
	modules  string // the directory with playwright-core
	endpoint string
	stop     func() error
}

var shared browser

// start starts the browser, once. Its error is the reason to skip.
var start = sync.OnceValue(func() error {
	if testing.Short() {
		return errors.New("switched off by -short")
	}
	chromium, err := find()
	if err != nil {
		return err
	}
	dir, err := npm.Install("npm", "web")
	if err != nil {
		return err
	}
	shared.modules = filepath.Join(dir, "node_modules")
	cmd := exec.Command("node", "flows/browser.mjs", chromium)
	cmd.Env = append(os.Environ(), "STET_MODULES="+shared.modules)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe() // the browser ends when this is closed
	if err != nil {
		return err
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		return errors.Join(fmt.Errorf("the browser did not start: %w", err), in.Close(), cmd.Wait())
	}
	shared.endpoint = strings.TrimSpace(line)
	shared.stop = func() error { return errors.Join(in.Close(), cmd.Wait()) }
	return nil
})

// find returns the path of a Chromium.
func find() (string, error) {
	if path := os.Getenv("STET_CHROMIUM"); path != "" {
		return path, nil
	}
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome"} {
		if path, err := exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", errors.New("chromium is not installed; STET_CHROMIUM says where it is")
}

func TestMain(m *testing.M) {
	flag.Parse()
	code := m.Run()
	if shared.stop != nil {
		if err := shared.stop(); err != nil {
			fmt.Fprintln(os.Stderr, "browser:", err)
			code = 1
		}
	}
	os.Exit(code)
}

// need starts the browser, or skips the test.
func need(t *testing.T) {
	t.Helper()
	if err := start(); err != nil {
		if npm.Required() {
			t.Fatalf("required, but cannot run: %v", err)
		}
		t.Skip(err)
	}
}

// flow runs a flow of flows/*.mjs with a server of its own.
func flow(t *testing.T, file, name string) {
	need(t)
	h := newRig(t)
	control := httptest.NewServer(h.control())
	t.Cleanup(func() {
		control.CloseClientConnections()
		control.Close()
	})
	ctx, cancel := context.WithTimeout(context.Background(), 3*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "node", "flows/run.mjs", file, name)
	cmd.Env = append(os.Environ(), "STET_MODULES="+shared.modules, "STET_BROWSER="+shared.endpoint,
		"STET_URL="+h.ui.URL, "STET_CONTROL="+control.URL, "STET_PICTURES="+*pictures, "STET_EVERY="+map[bool]string{true: "1"}[*every])
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", name, err, out)
	}
}

// TestServe is for people: it starts a server with some data, and waits.
func TestServe(t *testing.T) {
	if !*serve {
		t.Skip("only with -serve")
	}
	h := newRig(t)
	if err := h.seed(t.Context(), names(false)); err != nil {
		t.Fatal(err)
	}
	h.ask(t.Context())
	fmt.Println(h.link("token-of-desk"))
	<-t.Context().Done()
}
