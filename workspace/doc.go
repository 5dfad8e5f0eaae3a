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
//	locks/00 … locks/ff       advisory locks for preparing a write, by directory and name
//	kept/ab/cdef…             versions shown, written or overwritten, by content hash
//	backups/…                 backups, by tree, path and time
//	staged/OWNER-…            large writes that come in parts
//	owners/OWNER              who is at work, locked while they live, and the
//	                          directories in which they made temporary files
//
// A file being made in the tree is called .stet-OWNER-NUMBER.tmp. What a killed
// process left behind is removed by the next Open.
//
// # Commits
//
// A write first makes its file, whole and synced, under a temporary name. The
// commit puts it in place. Several processes may write to one tree that do not
// share a state directory: two users, or a container and its host. They meet in
// the directory of the file alone. A commit takes these steps there:
//
//  1. It takes the advisory lock of the directory itself (flock).
//  2. It claims the file: it makes the symbolic link .stet-claim-HASH.tmp, whose
//     name depends on the file's name alone, and which holds the temporary name.
//     Where the link exists, it waits until it is gone.
//  3. It checks that the name still leads to the file that it has looked at.
//  4. It exchanges its file with the one at the name, and hashes what it has
//     displaced. The base: the write is done. Anything else: it exchanges again,
//     and the write fails with ErrChanged. A new file takes a free name instead;
//     a removal renames the file away, hashes it, and puts it back likewise.
//  5. It removes the claim, and gives the lock back.
//
// The claim alone makes this safe. A link is made by one process only, since that
// fails where the name exists, and only its maker removes it. So between steps 2
// and 5 no other stet process changes the name. If the displaced file is the base,
// then nothing was acknowledged after it, and the write replaces what it said it
// would. If it is another one, our file is at the name until it is put back. A
// process that reads it there cannot commit on top of it: it has to claim first,
// which waits for step 5, and then it finds another file than it has read. So no
// acknowledged content is displaced, and no refused one stays or becomes the base
// of an acknowledged one.
//
// Other programs know of no claims. What one renames to the name between steps 3
// and 4 is displaced and put back. What it renames there later is the newest file:
// it stays, and what it has replaced is the old one.
//
// The lock makes waiting fair, and tells the claim of a process that was killed:
// who holds the lock and sees one claim for seconds knows that its maker, who held
// the lock as well, is dead. It keeps what that process held as a version, and
// removes the claim. Where directories have no locks (on some network file
// systems, or without the right to read the directory) a claim says that it was
// made without, and is not removed by others: the next Open with the state
// directory of its maker does that, and until then the error names it. Where the
// file system has no symbolic links there is the lock alone.
//
// # Gaps
//
// Two gaps stay. On systems other than Linux somebody else's change between the
// last look at the old file and the rename is overwritten. On any system a
// change through a descriptor that was open before the write goes to the old
// file, and so to its kept version, which is then found to be damaged.
package workspace
