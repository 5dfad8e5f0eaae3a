package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// packages installs what npm/package-lock.json pins, unless it is there, and
// returns the directory node_modules. The error is the reason to skip.
func packages() (string, error) {
	if os.Getenv("STET_E2E") == "off" {
		return "", errors.New("switched off by STET_E2E=off")
	}
	if _, err := exec.LookPath("npm"); err != nil {
		return "", errors.New("npm is not installed: install Node 20 or newer with npm")
	}
	cache := os.Getenv("STET_E2E_CACHE")
	if cache == "" {
		dir, err := os.UserCacheDir()
		if err != nil {
			return "", err
		}
		cache = filepath.Join(dir, "stet-e2e")
	}
	dir := filepath.Join(cache, "bench")
	lock, err := os.ReadFile(filepath.Join("npm", "package-lock.json"))
	if err != nil {
		return "", fmt.Errorf("run it in the directory bench: %w", err)
	}
	modules, done := filepath.Join(dir, "node_modules"), filepath.Join(dir, "installed.lock") // a copy, written last
	if have, err := os.ReadFile(done); err == nil && string(have) == string(lock) {
		return modules, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	for _, name := range []string{"package.json", "package-lock.json"} {
		data, err := os.ReadFile(filepath.Join("npm", name))
		if err != nil {
			return "", err
		}
		if err := os.WriteFile(filepath.Join(dir, name), data, 0o644); err != nil {
			return "", err
		}
	}
	cmd := exec.Command("npm", "install", "--no-audit", "--no-fund", "--loglevel=error")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		said := strings.TrimSpace(string(out))
		return "", fmt.Errorf("npm install: %w: %s", err, said[max(0, len(said)-500):])
	}
	return modules, os.WriteFile(done, lock, 0o644)
}
