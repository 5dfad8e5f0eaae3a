package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/stet-dev/stet/cmd/stet/internal/config"
	"github.com/stet-dev/stet/store"
	"github.com/stet-dev/stet/store/sqlite"
)

// userSettings returns the configuration without flags and without a project's file.
func (p *program) userSettings() (*config.Config, error) {
	c, err := config.Load(config.Source{Home: p.home(), User: p.userConfig(), Getenv: p.getenv})
	if err != nil {
		return nil, misconfigured(err)
	}
	return c, nil
}

// store returns the address of the records, for commands without a flag for it. A project cannot set it.
func (p *program) store() (string, error) {
	c, err := p.userSettings()
	if err != nil {
		return "", err
	}
	if c.Store != "" {
		return c.Store, nil
	}
	_, err = p.stateDir()
	return p.trailFile(), err
}

// storeOf returns the configured address of the records: a database, or else the file of the audit trail; "" if there is no home.
func (p *program) storeOf(c *config.Config) string { return cmp.Or(c.Store, p.trailFile()) }

// storeThere is store; the error is fs.ErrNotExist if the file does not exist.
func (p *program) storeThere() (string, error) {
	where, err := p.store()
	if err == nil && !store.IsDatabase(where) {
		_, err = os.Stat(where)
	}
	return where, err
}

// errNoTrail says that there is no audit trail.
var errNoTrail = errors.New("nothing is recorded yet")

// withCalls opens the audit trail for do, for a command about what agents did. If there is none, the error says how an agent is guarded.
func (p *program) withCalls(ctx context.Context, do func(store.Store) error) error {
	err := p.withTrail(ctx, do)
	if errors.Is(err, errNoTrail) {
		err = fmt.Errorf("%w%s", err, p.howToGuard())
	}
	return err
}

// openTrail opens the audit trail, and does not make a missing one.
func (p *program) openTrail(ctx context.Context) (store.Store, error) {
	where, err := p.storeThere()
	if errors.Is(err, os.ErrNotExist) {
		if anchor := sqlite.AnchorFile(where); isThere(anchor) {
			return nil, fmt.Errorf("the audit trail is gone: there is no %s, and %s says that there was one; "+
				"\"stet audit accept\" takes note of that, and begins another", where, filepath.Base(anchor))
		}
		return nil, fmt.Errorf("%w: there is no %s", errNoTrail, where)
	}
	if err != nil {
		return nil, fmt.Errorf("audit trail: %w", err)
	}
	trail, err := store.Open(ctx, where)
	if err != nil {
		return nil, fmt.Errorf("audit trail: %w", err)
	}
	return trail, nil
}

// withTrail opens the audit trail for do.
func (p *program) withTrail(ctx context.Context, do func(store.Store) error) error {
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
