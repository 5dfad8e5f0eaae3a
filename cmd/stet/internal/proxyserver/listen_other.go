//go:build !unix

package proxyserver

import "net"

// Inherited returns nil: this system hands over no listeners.
func Inherited() (net.Listener, error) { return nil, nil }
