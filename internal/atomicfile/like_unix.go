//go:build linux || darwin

package atomicfile

import (
	"bytes"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Like gives the file the owner, the mode and the extended attributes of another file, including access lists. It returns
// descriptions of what could not be kept. If the group is lost, the new group gets only the permissions that all users had, so that
// no user gets more permissions than before.
func (t *Temp) Like(old *os.File) (lost []string, err error) {
	from, err := StatFile(old)
	if err != nil {
		return nil, err
	}
	now, err := t.Stat()
	if err != nil {
		return nil, err
	}
	fd, oldFD := int(t.file.Fd()), int(old.Fd())
	perm := uint32(from.Mode.Perm())
	if from.UID != now.UID || from.GID != now.GID {
		if unix.Fchown(fd, int(from.UID), int(from.GID)) != nil {
			if from.UID != now.UID {
				lost = append(lost, "owner")
			}
			if from.GID != now.GID && unix.Fchown(fd, -1, int(from.GID)) != nil {
				lost = append(lost, "group")
				perm = shrink(perm)
			}
		}
	}
	if from.Mode&(os.ModeSetuid|os.ModeSetgid) != 0 {
		lost = append(lost, "setuid and setgid bits")
	}
	attrs := listAttrs(oldFD)
	acl := false
	for _, name := range attrs {
		acl = acl || name == accessList
	}
	if acl {
		// Until the list is set, the group bits (its mask) would allow too much.
		perm = shrink(perm)
	}
	if err := unix.Fchmod(fd, perm); err != nil {
		return lost, err
	}
	return append(lost, copyAttrs(fd, oldFD, attrs)...), nil
}

const (
	accessList = "system.posix_acl_access"
	capability = "security.capability"
)

// shrink removes the group permissions that other users do not have.
func shrink(perm uint32) uint32 {
	return perm&^0o070 | perm&0o070&((perm&0o007)<<3)
}

func listAttrs(fd int) []string {
	n, err := unix.Flistxattr(fd, nil)
	if err != nil || n == 0 {
		return nil
	}
	buf := make([]byte, n+256)
	n, err = unix.Flistxattr(fd, buf)
	if err != nil || n == 0 {
		return nil
	}
	return strings.Split(strings.TrimSuffix(string(buf[:n]), "\x00"), "\x00")
}

func copyAttrs(to, from int, names []string) (lost []string) {
	for _, name := range names {
		if name == capability {
			// These are capabilities of the old program, not of the new bytes. The system itself drops them when a file is written
			// to.
			lost = append(lost, "file capabilities")
			continue
		}
		value, ok := attr(from, name)
		if !ok {
			lost = append(lost, "attribute "+name)
			continue
		}
		if there, ok := attr(to, name); ok && bytes.Equal(there, value) {
			continue
		}
		if unix.Fsetxattr(to, name, value, 0) != nil {
			if name == accessList {
				lost = append(lost, "access list")
			} else {
				lost = append(lost, "attribute "+name)
			}
		}
	}
	return lost
}

func attr(fd int, name string) ([]byte, bool) {
	n, err := unix.Fgetxattr(fd, name, nil)
	if err != nil {
		return nil, false
	}
	buf := make([]byte, n)
	if n > 0 {
		if n, err = unix.Fgetxattr(fd, name, buf); err != nil {
			return nil, false
		}
	}
	return buf[:n], true
}
