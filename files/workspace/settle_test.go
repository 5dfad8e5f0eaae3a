package workspace

import (
	"os"
	"testing"
	"time"

	"github.com/stet-dev/stet/internal/atomicfile"
)

// settle waits until the file's stamp is settled.
func settle(t testing.TB, file string) {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	st, err := atomicfile.StatFile(f)
	if err != nil {
		t.Fatal(err)
	}
	for !stampOf(st).Settled(time.Now()) {
		time.Sleep(50 * time.Millisecond)
	}
}
