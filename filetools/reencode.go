package filetools

import (
	"bytes"
	"strings"

	"github.com/stet-dev/stet/internal/diff"
	"github.com/stet-dev/stet/tool"
	"github.com/stet-dev/stet/workspace"
)

// reencode returns the bytes of a text that replaces the text of a file. Lines that the
// old text has too keep their bytes, however they were encoded. With exact a changed
// line is refused if its encoding could not give back its old bytes. (FILE-16)
func reencode(old *content, text string, enc workspace.Encoding, exact bool) ([]byte, error) {
	if enc.String() == "utf-8" || old.version == "" || old.unreadable != nil || old.enc != enc {
		return enc.Encode(text)
	}
	raw, ok := rawLines(old.data, enc)
	was := splitLines(old.text)
	if !ok || len(raw) != len(was) {
		return reencodeWhole(old, text, enc, exact)
	}
	inside := enc.WithBOM(false)
	head, err := enc.Encode("")
	if err != nil {
		return nil, err
	}
	out := append([]byte(nil), head...)
	at := 0 // lines of the old text done
	keep := func(to int) {
		for ; at < to; at++ {
			out = append(out, raw[at]...)
		}
	}
	for _, h := range diff.Lines(old.text, text, diff.Options{Context: -1}).Hunks {
		start := h.OldStart - 1
		if h.OldLines == 0 {
			start = h.OldStart
		}
		keep(start)
		if exact {
			for i := start; i < start+h.OldLines; i++ {
				if same, err := inside.Encode(was[i]); err != nil || !bytes.Equal(same, raw[i]) {
					return nil, notCanonical(enc)
				}
			}
		}
		at = start + h.OldLines
		for _, l := range h.Lines {
			if l.Kind != diff.Added {
				continue
			}
			b, err := inside.Encode(l.Text)
			if err != nil {
				return nil, err
			}
			out = append(out, b...)
		}
	}
	keep(len(raw))
	return out, nil
}

func notCanonical(enc workspace.Encoding) *failure {
	return fail(tool.EncodingError, "the place of the edit has bytes that "+enc.String()+" can write in several ways; write the whole file")
}

// reencodeWhole is for files that cannot be split into lines by their bytes.
func reencodeWhole(old *content, text string, enc workspace.Encoding, exact bool) ([]byte, error) {
	if exact {
		if same, err := enc.Encode(old.text); err != nil || !bytes.Equal(same, old.data) {
			return nil, notCanonical(enc)
		}
	}
	return enc.Encode(text)
}

// rawLines splits a file's bytes after each line feed, the byte-order mark left
// out.
func rawLines(data []byte, enc workspace.Encoding) ([][]byte, bool) {
	nl, err := enc.EncodePart("\n")
	if err != nil || len(nl) == 0 {
		return nil, false
	}
	mark, err := enc.Encode("")
	if err != nil || !bytes.HasPrefix(data, mark) {
		return nil, false
	}
	data = data[len(mark):]
	var out [][]byte
	start := 0
	for at := 0; at+len(nl) <= len(data); at += len(nl) {
		if len(nl) == 1 {
			i := bytes.IndexByte(data[at:], nl[0])
			if i < 0 {
				break
			}
			at += i
		} else if !bytes.Equal(data[at:at+len(nl)], nl) {
			continue
		}
		out = append(out, data[start:at+len(nl)])
		start = at + len(nl)
	}
	if start < len(data) {
		out = append(out, data[start:])
	}
	return out, true
}

func splitLines(text string) []string {
	all := strings.SplitAfter(text, "\n")
	if all[len(all)-1] == "" {
		all = all[:len(all)-1]
	}
	return all
}
