package proxyserver

import (
	"context"
	"errors"
	"net"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/internal/config"
)

// An agent does not wait for ever for the account to open.
func TestAccountLockedAtStart(t *testing.T) {
	t.Parallel()
	db := filepath.Join(t.TempDir(), "stet.db")
	l := flock.New(db + "-lock")
	if ok, err := l.TryLock(); !ok || err != nil {
		t.Fatal(ok, err)
	}
	defer l.Unlock()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	store, note := openStore(ctx, db)
	if ctx.Err() != nil || store != nil || !strings.HasPrefix(note, "no record is kept: ") || !strings.Contains(note, db+"-lock") {
		t.Errorf("%v, %q", store, note)
	}
}

// refusing is a listener that has broken.
type refusing struct{ net.Listener }

var errBroken = errors.New("the network is gone")

func (refusing) Accept() (net.Conn, error) { return nil, errBroken }

// A server that ended by itself says why.
func TestServerEnds(t *testing.T) {
	listener, err := Listen(context.Background(), "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Open(t.Context(), Config{Settings: &config.Config{}})
	if err != nil {
		t.Fatal(err)
	}
	s.Serve(refusing{listener})
	<-s.Ended
	if err := s.Close(context.Background(), time.Second); !errors.Is(err, errBroken) {
		t.Error(err)
	}
}
