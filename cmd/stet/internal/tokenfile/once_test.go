package tokenfile

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"
)

// Many make the same secret at once: all get one content, and nothing else is left in its directory.
func TestOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "state")
	file := filepath.Join(dir, "secret")
	var wg sync.WaitGroup
	got := make([]string, 50)
	for i := range got {
		wg.Go(func() {
			b, err := Once(file, fmt.Appendf(nil, "the secret of %d", i))
			if err != nil {
				t.Error(err)
			}
			got[i] = string(b)
		})
	}
	wg.Wait()
	for i := range got {
		if got[i] == "" || got[i] != got[0] {
			t.Fatalf("%q and %q", got[0], got[i])
		}
	}
	there, err := os.ReadDir(dir)
	if err != nil || len(there) != 1 {
		t.Errorf("left: %v %v", there, err)
	}
	if info, err := os.Stat(file); err != nil || info.Mode() != 0o600 {
		t.Errorf("%v %v", info, err)
	}
}
