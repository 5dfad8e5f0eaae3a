//go:build !linux && !darwin

package atomicfile

import "os"

// Like gives the file the mode of another file. On these systems attributes and access lists are those of a new file.
func (t *Temp) Like(old *os.File) (lost []string, err error) {
	from, err := StatFile(old)
	if err != nil {
		return nil, err
	}
	return nil, t.file.Chmod(from.Mode.Perm())
}
