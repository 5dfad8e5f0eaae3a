// Package workspace reads and writes the files of one directory tree, the root,
// which it holds by descriptor.
//
// A Root opens the tree. A Path names a file in it, and only a Root makes one. No
// operation follows a link out of the tree, also while names in it change.
// Links that stay inside are followed: the file at their end is the one that is read
// and written.
//
// A Version is the hash of a file's whole content. It alone decides whether a file is
// still the one that was read. A Stamp, what the system says of a file, only saves
// work. Every write says which version it replaces, and fails with ErrChanged where
// the file has another one.
//
// The way of a write:
//
//	Path     names a file, by the text that the caller gave
//	Inspect  says what is there, in one Target: before a person is asked
//	Write    the version that was read, replaced by new bytes:
//	  resolve    walk to the directory, by descriptor           resolve.go
//	  lock       one writer prepares at a time                  state.go
//	  look       open the old file: may it be replaced?         write.go
//	  fill       a temporary file beside it, whole and synced   write.go
//	  commit     put it in place, if the old file is the base   commit.go
//	  keep       the old content becomes a version              displaced.go
//
// The way of a read: ReadAll for a whole file, Page for lines of a file of any size,
// Survey and Reader for a large file that is passed on.
//
// What the package stores for itself lies in a state directory outside of the tree,
// private to the user:
//
//	locks/00 … locks/ff       locks for preparing a write, by directory and name
//	kept/ab/cdef…             versions shown, written or overwritten, by content hash
//	backups/…                 backups, by tree, path and time
//	staged/OWNER-…            large writes that come in parts
//	owners/OWNER              a process at work: locked while it lives, with the
//	                          directories in which it made temporary files
//
// A temporary file in the tree is called .stet-OWNER-NUMBER.tmp. What a killed process
// left is removed by the next Open.
//
// Two processes that commit to one file at once are kept apart by a claim in the
// file's directory. docs/replacing-files.md says how, proves it, and names the two gaps that
// stay.
package workspace
