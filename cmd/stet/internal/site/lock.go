package site

import (
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/gofrs/flock"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
)

// lockSite locks the state directory for this stet serve. A second one would ask other people, with other tokens, about the same
// files. The lock ends with the process, also if it is killed.
func lockSite(state string) (io.Closer, error) {
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, &config.Error{Err: config.StateError(err)}
	}
	lock := flock.New(filepath.Join(state, "serve-lock"), flock.SetPermissions(0o600))
	mine, err := lock.TryLock()
	switch {
	case err != nil:
		return nil, &config.Error{Err: config.StateError(err)}
	case !mine:
		return nil, fmt.Errorf("another stet serve is running with the state directory %s: stop it, "+
			"give it this workspace by \"stet host\", or set XDG_STATE_HOME to another directory", state)
	}
	return lock, nil
}
