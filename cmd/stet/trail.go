package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stet-dev/stet/store/sqlite"
)

// openTrail opens the audit trail. Where there is none, none is made.
func (p *program) openTrail(ctx context.Context) (*sqlite.Store, error) {
	if _, err := p.stateDir(); err != nil {
		return nil, err
	}
	file := p.trailFile()
	if _, err := os.Stat(file); err != nil {
		if !errors.Is(err, os.ErrNotExist) {
			return nil, fmt.Errorf("audit trail: %w", err)
		}
		if anchor := sqlite.AnchorFile(file); isThere(anchor) {
			return nil, fmt.Errorf("the audit trail is gone: there is no %s, and %s says that there was one; "+
				"\"stet audit accept\" takes note of that, and begins another", file, filepath.Base(anchor))
		}
		return nil, fmt.Errorf("nothing is recorded yet: there is no %s", file)
	}
	trail, err := sqlite.Open(ctx, file)
	if err != nil {
		return nil, fmt.Errorf("audit trail: %w", err)
	}
	return trail, nil
}

// withTrail opens the audit trail for do.
func (p *program) withTrail(ctx context.Context, do func(*sqlite.Store) error) error {
	trail, err := p.openTrail(ctx)
	if err != nil {
		return err
	}
	return errors.Join(do(trail), trail.Close())
}

func isThere(file string) bool {
	info, err := os.Stat(file)
	return err == nil && info.Size() > 0
}
