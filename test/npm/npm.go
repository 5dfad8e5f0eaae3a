// Package npm installs the npm packages that tests and the benchmark run: agents, SDKs, MCP clients and servers. Each set of
// packages is a directory with a package.json, and a package-lock.json with the versions.
//
// They are installed once, in $STET_E2E_CACHE (default: stet-e2e in the user's cache directory). STET_E2E=off installs nothing.
// With STET_E2E=require, a test that cannot run fails instead of being skipped.
package npm

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/gofrs/flock"
)

// Required reports whether a test that cannot run is a failure.
func Required() bool { return os.Getenv("STET_E2E") == "require" }

// off returns why nothing from npm is to run here, or nil.
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

// Cache returns the directory in which everything is installed.
func Cache() (string, error) {
	if dir := os.Getenv("STET_E2E_CACHE"); dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.UserCacheDir()
	return filepath.Join(dir, "stet-e2e"), err
}

// Install installs the packages of from/package-lock.json in the directory name of the cache, unless they are there. It returns
// that directory, which contains node_modules. If another process is installing the same name, Install waits for it.
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
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	installing := flock.New(dir + ".installing")
	if err := installing.Lock(); err != nil {
		return "", err
	}
	defer func() { _ = installing.Unlock() }()   // it ends with the process too
	done := filepath.Join(dir, "installed.lock") // a copy that is written last
	if have, err := os.ReadFile(done); err == nil && string(have) == string(lock) {
		return dir, nil
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
		return "", fmt.Errorf("%w; the versions are in %s", err, pins)
	}
	return dir, os.WriteFile(done, lock, 0o644)
}

// Add installs packages ("NAME@VERSION"), and what they need, in the directory name of the cache. It returns that directory.
func Add(name string, packages ...string) (string, error) {
	if err := off(); err != nil {
		return "", err
	}
	cache, err := Cache()
	if err != nil {
		return "", err
	}
	dir := filepath.Join(cache, name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := os.WriteFile(filepath.Join(dir, "package.json"), []byte(`{"private": true}`), 0o644); err != nil {
		return "", err
	}
	return dir, install(dir, packages...)
}

// pauses are the times between attempts: a registry may fail for a short time.
var pauses = []time.Duration{2 * time.Second, 10 * time.Second, 30 * time.Second}

// install runs npm until it succeeds, with one attempt more than there are pauses. Each attempt uses what the one before has put
// into npm's cache.
func install(dir string, packages ...string) error {
	for attempt := 0; ; attempt++ {
		// "npm ci" refuses a lock file without the binaries for other systems, and some registries do not have them. "npm
		// install" also installs the versions of the lock file.
		cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--no-update-notifier", "--prefer-offline", "--loglevel=error")
		cmd.Args = append(cmd.Args, packages...)
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
