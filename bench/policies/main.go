// Policies compares stet's policies with those of other tools and with bounds, on recorded sessions. It prints what "stet bench --json"
// prints for stet's own.
//
//	cd bench && go run ./policies PATH... | go run ./tables
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	_ "modernc.org/sqlite" // the sessions of some agents are databases

	"github.com/stet-dev/stet/bench/formats"
	"github.com/stet-dev/stet/bench/others"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/bench"
	"github.com/stet-dev/stet/trim/transcript"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "policies:", err)
		os.Exit(1)
	}
}

func run(paths []string) error {
	if len(paths) == 0 {
		return errors.New("name session files, or directories of them")
	}
	var policies []bench.Policy
	for _, p := range trim.Policies() {
		if p == trim.Off {
			continue
		}
		ours, err := bench.Ours(trim.Config{Policy: p})
		if err != nil {
			return err
		}
		policies = append(policies, ours)
	}
	readOnly := func(path string) (*sql.DB, error) { return sql.Open("sqlite", "file:"+path+"?mode=ro") }
	b, err := bench.Run(context.Background(), paths, bench.Config{
		Config:   replay.Config{Open: transcript.Opener{SQLite: readOnly, Formats: formats.All()}},
		Policies: append(policies, others.Policies()...), About: bench.NewIndex(os.Open).Of,
	})
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(b)
}
