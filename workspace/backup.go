package workspace

import (
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"
	"time"
)

// backup makes a file under backups that holds a kept version, and returns its
// path. The file is a second name of the kept one, or a copy where links are
// not to be had.
func (s *state) backup(rootPath, canonical string, v Version) (string, error) {
	kept, err := s.keptPath(v)
	if err != nil {
		return "", err
	}
	h := fnv.New64a()
	_, _ = io.WriteString(h, rootPath)
	base := path.Base(rootPath)
	dir := s.path("backups", fmt.Sprintf("%s-%08x", plainName(base), uint32(h.Sum64())), filepath.FromSlash(path.Dir(canonical)))
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	name := plainName(path.Base(canonical))
	stamp := time.Now().UTC().Format("20060102T150405.000000")
	file := filepath.Join(dir, name+"."+stamp+"-"+randomName(2)+".bak")
	if err := os.Link(kept, file); err == nil {
		return file, nil
	}
	return file, copyFile(file, kept)
}

// plainName is a name cut so that something can be added to it.
func plainName(s string) string {
	s = strings.Trim(s, "/")
	if len(s) > 180 {
		s = s[:180]
	}
	return strings.ToValidUTF8(s, "_")
}

func copyFile(to, from string) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Sync(), out.Close())
}
