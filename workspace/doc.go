// Package workspace is the one door to the disk: a directory tree, held by
// descriptor, and everything that may be done to the files in it.
//
// A Root opens the tree. A Path names a file in it, and only a Root makes one.
// No operation follows a link out of the tree, whatever is renamed under it
// meanwhile; links that stay inside are followed, and the file they lead to is
// what is read and written.
//
// A Version is the hash of a file's whole content, and the only thing that
// decides whether a file is the one that was seen. A Stamp, what the system
// says of a file, only shortens the way. Every write says which version it
// replaces and fails with ErrChanged when another one is there.
//
// What the package stores for itself lies in a state directory outside the
// tree, private to the user:
//
//	locks/00 … locks/ff       advisory locks, by directory and name
//	kept/ab/cdef…             versions shown or overwritten, by content hash
//	backups/…                 backups, by tree, path and time
//	staged/OWNER-…            large writes that come in parts
//	owners/OWNER              who is at work, locked while they live, and the
//	                          directories in which they made temporary files
//
// A file being made in the tree is called .stet-OWNER-NUMBER.tmp. What a killed
// process left behind is removed by the next Open.
//
// Two gaps stay. On systems other than Linux somebody else's change between the
// last look at the old file and the rename is overwritten. On any system a
// change through a descriptor that was open before the write goes to the old
// file, and so to its kept version, which is then found to be damaged.
package workspace
