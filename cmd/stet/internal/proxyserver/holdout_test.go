package proxyserver

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// One of five names is chosen, by a key that is made once: every process chooses the same ones, and another state directory others.
func TestHoldout(t *testing.T) {
	dir := t.TempDir()
	choose := func(dir string) func(string) bool {
		t.Helper()
		f, err := holdout(dir, 5)
		if err != nil {
			t.Fatal(err)
		}
		return f
	}
	one, again, other := choose(dir), choose(dir), choose(t.TempDir())
	chosen, differ := 0, 0
	for i := range 10_000 {
		name := fmt.Sprint("session-", i)
		if one(name) {
			chosen++
		}
		if one(name) != again(name) {
			t.Fatalf("%s is chosen by one process alone", name)
		}
		if one(name) != other(name) {
			differ++
		}
	}
	if chosen < 1850 || chosen > 2150 || differ < 2500 { // 2000 and 3200 are expected; 150 are almost 4 standard deviations
		t.Errorf("%d of 10000 are chosen, %d differ", chosen, differ)
	}
	if err := os.WriteFile(filepath.Join(dir, "holdout-key"), []byte("short"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := holdout(dir, 5); err == nil {
		t.Error("a damaged key is used")
	}
}
