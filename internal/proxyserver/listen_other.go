//go:build !unix

package proxyserver

import "net"

// Inherited is the listener that the system opened and handed to this process: none here.
func Inherited() (net.Listener, error) { return nil, nil }
