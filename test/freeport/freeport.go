// Package freeport finds ports for programs that are told their port before they listen.
package freeport

import (
	"fmt"
	"math/rand/v2"
	"net"
	"testing"
)

// Ports returns n free ports of the loopback. They are below the ports that the system chooses for listeners and connections. So no
// other program is given one of them before the test's program listens, or while it is started again.
func Ports(t testing.TB, n int) []int {
	t.Helper()
	var found []int
	for range 1000 {
		if len(found) == n {
			return found
		}
		l, err := net.Listen("tcp", fmt.Sprintf("127.0.0.1:%d", 12000+rand.IntN(20000)))
		if err != nil {
			continue // it is in use
		}
		defer l.Close() // after all ports are found
		found = append(found, l.Addr().(*net.TCPAddr).Port)
	}
	t.Fatalf("only %d ports are free", len(found))
	return nil
}

// Addresses is Ports, as HOST:PORT.
func Addresses(t testing.TB, n int) []string {
	t.Helper()
	var all []string
	for _, port := range Ports(t, n) {
		all = append(all, fmt.Sprintf("127.0.0.1:%d", port))
	}
	return all
}
