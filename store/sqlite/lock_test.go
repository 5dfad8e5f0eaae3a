package sqlite

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// Open waits for a lock until the context ends. The error names the lock file.
func TestOpenLocked(t *testing.T) {
	path := filepath.Join(t.TempDir(), "stet.db")
	unlock, err := lock(context.Background(), path)
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	ctx, cancel := context.WithTimeout(context.Background(), 50*time.Millisecond)
	defer cancel()
	_, err = Open(ctx, path)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "another process holds "+path+"-lock") {
		t.Error(err)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("the file was made without the lock")
	}
}
