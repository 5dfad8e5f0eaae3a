// Package workspace reads and writes the files of one directory tree. The root of the tree is held by its descriptor.
//
// A Root opens the tree. A Path names a file in it. Only a Root makes a Path. No operation follows a link out of the tree,
// even while names in the tree change. Links that stay inside are followed: the file at their end is read or written.
//
// A Version is the hash of a file's whole content. It alone decides whether a file is still the one that was read. A Stamp
// is the system's data about a file, such as its size and times. It only saves work. Every write says which version it
// replaces, and fails with ErrChanged if the file has another one.
//
// The steps of a write:
//
//	Path     names a file, by the text that the caller gave
//	Inspect  says what is at the path, in one Target: before a person is asked
//	Write    replaces the version that was read by new bytes:
//	  resolve    walk to the directory, by descriptor           resolve.go
//	  lock       one writer prepares at a time                  state.go
//	  look       open the old file: may it be replaced?         filechange.go
//	  fill       a temporary file next to it, whole and synced   filechange.go
//	  commit     put it in place, if the old file is the base   commit.go
//	  keep       the old content becomes a version              displaced.go
//
// To read: ReadAll for a whole file, Page for lines of a file of any size, LargeText and Stream for a large file that is
// passed on in pieces.
//
// The package stores its own data in a state directory outside of the tree, private to the user:
//
//	locks/00 … locks/ff       locks for preparing a write, by directory and name
//	kept/ab/cdef…             versions shown, written or overwritten, by content hash
//	backups/…                 backups, by tree, path and time
//	staged/OWNER-…            large writes that come in parts
//	owners/OWNER              a running process: locked while it lives, with the
//	                          directories in which it made temporary files
//
// A temporary file in the tree is called .stet-OWNER-NUMBER.tmp. The next Open removes the temporary files of a killed
// process.
//
// If two processes commit to the same file, a claim in the file's directory makes one of them wait. docs/replacing-files.md
// describes the method, proves it, and names the two cases that it does not cover.
package workspace
