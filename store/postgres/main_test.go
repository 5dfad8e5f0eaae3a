package postgres_test

import (
	"os"
	"testing"

	"go.uber.org/goleak"

	"github.com/stet-dev/stet/test/postgrestest"
)

// server has the databases of all tests of this package.
var server postgrestest.Server

func TestMain(m *testing.M) {
	code := m.Run()
	server.Stop()
	if err := goleak.Find(); err != nil && code == 0 {
		println(err.Error())
		code = 1
	}
	os.Exit(code)
}
