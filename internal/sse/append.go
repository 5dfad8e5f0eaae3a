// Package sse writes and reads server-sent events.
package sse

import "bytes"

// Append appends one event to dst: a line with its name, unless that is empty,
// a line for each line of data, and the empty line that ends it. name must not
// hold line breaks; in data, \n, \r and \r\n each end a line and are all read
// back as \n.
func Append(dst []byte, name string, data []byte) []byte {
	if name != "" {
		dst = append(dst, "event: "...)
		dst = append(dst, name...)
		dst = append(dst, '\n')
	}
	for {
		n := bytes.IndexAny(data, "\r\n")
		dst = append(dst, "data: "...)
		if n < 0 {
			dst = append(dst, data...)
			return append(dst, '\n', '\n')
		}
		dst = append(dst, data[:n]...)
		dst = append(dst, '\n')
		if data[n] == '\r' && n+1 < len(data) && data[n+1] == '\n' {
			n++
		}
		data = data[n+1:]
	}
}
