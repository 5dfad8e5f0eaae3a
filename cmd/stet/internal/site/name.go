package site

import (
	"fmt"
	"path/filepath"
	"strings"
)

// WorkspaceName returns the name of a workspace: the given one, or one made from the directory's name.
func WorkspaceName(given, root string) (string, error) {
	name := given
	if name == "" {
		name = strings.Trim(strings.Map(func(c rune) rune {
			if !strings.ContainsRune(nameLetters, c) {
				return '-'
			}
			return c
		}, filepath.Base(root)), "-")
		if name = name[:min(len(name), 64)]; name == "" {
			name = "workspace"
		}
	}
	if len(name) > 64 || strings.ContainsFunc(name, func(c rune) bool { return !strings.ContainsRune(nameLetters, c) }) {
		return "", fmt.Errorf("--workspace: want up to 64 letters, digits, dots, - and _, not %q", name)
	}
	return name, nil
}

const nameLetters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-"
