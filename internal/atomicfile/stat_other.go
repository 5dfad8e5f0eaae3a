//go:build !linux && !darwin

package atomicfile

import "io/fs"

// openFlags is empty: the file type was checked before.
const openFlags = 0

// statOf has no file identity, link count or owner. Files are compared by size and time only; content hashes decide what matters.
func statOf(fi fs.FileInfo) Stat {
	return Stat{Size: fi.Size(), Mode: fi.Mode(), Mtime: fi.ModTime().UnixNano(), Links: 1, Blocks: -1}
}
