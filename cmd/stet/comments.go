package main

import "strings"

// withoutComments turns JSON with comments and trailing commas into JSON.
// What is neither comes out as something that does not parse.
func withoutComments(b []byte) []byte {
	out := make([]byte, 0, len(b))
	for i := 0; i < len(b); {
		switch {
		case b[i] == '"':
			end := i + 1
			for end < len(b) && b[end] != '"' {
				if b[end] == '\\' {
					end++
				}
				end++
			}
			end = min(end+1, len(b))
			out = append(out, b[i:end]...)
			i = end
		case strings.HasPrefix(string(b[i:min(i+2, len(b))]), "//"):
			for i < len(b) && b[i] != '\n' {
				i++
			}
		case strings.HasPrefix(string(b[i:min(i+2, len(b))]), "/*"):
			end := strings.Index(string(b[i+2:]), "*/")
			if end < 0 {
				return out
			}
			i += end + 4
		case b[i] == '}' || b[i] == ']':
			for n := len(out); n > 0 && strings.ContainsRune(" \t\r\n,", rune(out[n-1])); n = len(out) {
				out = out[:n-1]
			}
			out = append(out, b[i])
			i++
		default:
			out = append(out, b[i])
			i++
		}
	}
	return out
}
