package agents

import "bytes"

// withLineEnds gives the new text in now CRLF line ends if old has them. now is old with something inserted.
func withLineEnds(old, now []byte) []byte {
	if n := bytes.IndexByte(old, '\n'); n < 1 || old[n-1] != '\r' {
		return now
	}
	head := 0
	for head < len(old) && old[head] == now[head] {
		head++
	}
	tail := 0
	for tail < len(old)-head && old[len(old)-1-tail] == now[len(now)-1-tail] {
		tail++
	}
	var out []byte
	for i, c := range now {
		if c == '\n' && i >= head && i < len(now)-tail && (i == 0 || now[i-1] != '\r') {
			out = append(out, '\r')
		}
		out = append(out, c)
	}
	return out
}
