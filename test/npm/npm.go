// Package npm brings the npm packages that tests and the benchmark run as they
// are: agents, SDKs, MCP clients and servers. Each set of them is a directory
// with a package.json and the package-lock.json that pins it.
//
// They are installed once, into $STET_E2E_CACHE (default: stet-e2e in the user's
// cache directory). STET_E2E=off installs nothing; STET_E2E=require makes what
// cannot run a failure instead of a skipped test.
package npm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// Required reports whether what cannot run is a failure.
func Required() bool { return os.Getenv("STET_E2E") == "require" }

// off says why nothing from npm is to run here; nil where it is.
func off() error {
	if os.Getenv("STET_E2E") == "off" {
		return errors.New("switched off by STET_E2E=off")
	}
	for _, tool := range []string{"node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			return fmt.Errorf("%s is not installed: install Node 20 or newer with npm", tool)
		}
	}
	return nil
}

// Cache is the directory that everything is installed in.
func Cache() (string, error) {
	if dir := os.Getenv("STET_E2E_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "stet-e2e"), err
}

// Install brings what from/package-lock.json pins into the directory name of
// the cache, unless it is there already, and returns that directory: the
// packages are in its node_modules. One process at a time may install a name.
func Install(from, name string) (string, error) {
	if err := off(); err != nil {
		return "", err
	}
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	pins := filepath.Join(from, "package-lock.json")
	lock, err := os.ReadFile(pins)
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	done := filepath.Join(dir, "installed.lock") // a copy, written last
	if have, err := os.ReadFile(done); err == nil && string(have) == string(lock) {
		return dir, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join(from, name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return "", err
		}
	}
	if err := install(dir); err != nil {
		return "", fmt.Errorf("%w; the versions stand in %s", err, pins)
	}
	return dir, os.WriteFile(done, lock, 0o644)
}

// pauses are what is waited after an attempt that failed: registries have
// hiccups.
var pauses = []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second}

// install runs npm until it succeeds, or has failed once more than there are
// pauses. Each attempt goes on with what the one before has in npm's cache.
func install(dir string) error {
	for attempt := 0; ; attempt++ {
		// Not "npm ci": it refuses a lock file without the binaries for other
		// systems, and not every registry has them. What the lock file has is
		// installed in that version either way.
		cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--prefer-offline", "--loglevel=error")
		cmd.Dir = dir
		out, err := cmd.CombinedOutput()
		if err == nil {
			return nil
		}
		if attempt == len(pauses) {
			said := strings.TrimSpace(string(out))
			return fmt.Errorf("npm install: %w: %s", err, said[max(0, len(said)-500):])
		}
		time.Sleep(pauses[attempt])
	}
}
