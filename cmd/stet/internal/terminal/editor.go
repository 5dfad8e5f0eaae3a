package terminal

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// runEditor runs a shell command on a file with this text and name, and returns the new text. Only this user can read the
// file. The command is never killed, because the terminal would stay in the mode that the editor had set.
func runEditor(command, name string, text []byte, in io.Reader, out io.Writer) (edited []byte, err error) {
	dir, err := os.MkdirTemp("", "stet-edit-") // mode 0700
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	file := filepath.Join(dir, safeFileName(name))
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	cmd := editorCommandLine(command, file)
	if f, ok := in.(*os.File); ok {
		cmd.Stdin = f
	}
	cmd.Stdout, cmd.Stderr = out, out
	if err := cmd.Run(); err != nil {
		return nil, fmt.Errorf("editor %s: %w", command, err)
	}
	return os.ReadFile(file)
}

// safeFileName returns a file name of letters, digits, ".", "_" and "-". It keeps the extension, so that an editor recognises
// the language. It has no characters that are special in a shell.
func safeFileName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r < 0x80 && (r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("._-", r)) {
			return r
		}
		return '_'
	}, name)
	if name = strings.TrimLeft(name, ".-"); name == "" {
		return "text"
	}
	return name[max(0, len(name)-100):]
}
