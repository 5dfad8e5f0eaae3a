// Policies compares stet's policies with those of other tools and with bounds, on recorded sessions. It prints what "stet bench --json"
// prints for stet's own.
//
//	cd bench && go run ./policies [-ours] PATH... | go run ./tables
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"

	_ "modernc.org/sqlite" // the sessions of some agents are databases

	"github.com/stet-dev/stet/bench/formats"
	"github.com/stet-dev/stet/bench/others"
	"github.com/stet-dev/stet/test/replaytest/pointers"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/bench"
	"github.com/stet-dev/stet/trim/transcript"
)

var ours = flag.Bool("ours", false, "only the policies of stet")

func main() {
	flag.Parse()
	if err := run(flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "policies:", err)
		os.Exit(1)
	}
}

func run(paths []string) error {
	if len(paths) == 0 {
		return errors.New("name session files, or directories of them")
	}
	policies, err := bench.Stet()
	if err != nil {
		return err
	}
	if !*ours {
		policies = append(policies, others.Policies()...)
	}
	readOnly := func(path string) (*sql.DB, error) { return sql.Open("sqlite", "file:"+path+"?mode=ro") }
	b, err := bench.Run(context.Background(), paths, bench.Config{
		Config:   replay.Config{Open: transcript.Opener{SQLite: readOnly, Formats: formats.All()}, Pointers: pointers.Of},
		Policies: policies, About: bench.NewIndex(os.Open).Of,
	})
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	out.SetIndent("", "  ")
	return out.Encode(b)
}
