package workspace

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"
)

// TestAttributesAreKept checks that a write keeps extended attributes, access lists and owners, or reports them as lost.
func TestAttributesAreKept(t *testing.T) {
	tr := newTree(t, Options{})
	tr.put("f", "old")
	file := tr.abs("f")
	if err := unix.Setxattr(file, "user.note", []byte("mine"), 0); err != nil {
		t.Skip("no extended attributes here:", err)
	}
	// Version 2; user::rw-, user 12345:r--, group::---, mask::r--, other::---.
	acl := "\x02\x00\x00\x00" + aclEntry(1, 6, -1) + aclEntry(2, 4, 12345) + aclEntry(4, 0, -1) + aclEntry(16, 4, -1) + aclEntry(32, 0, -1)
	hasACL := unix.Setxattr(file, "system.posix_acl_access", []byte(acl), 0) == nil
	owned := os.Geteuid() == 0 && os.Chown(file, 12345, 12346) == nil
	before, _ := os.Stat(file)
	w := tr.mustWrite("f", "new", VersionOf([]byte("old")), WriteMode{})
	if len(w.Lost) > 0 {
		t.Errorf("lost %v", w.Lost)
	}
	buf := make([]byte, 200)
	if n, err := unix.Getxattr(file, "user.note", buf); err != nil || string(buf[:n]) != "mine" {
		t.Errorf("attribute %q, %v", buf[:max(n, 0)], err)
	}
	if n, err := unix.Getxattr(file, "system.posix_acl_access", buf); hasACL && (err != nil || string(buf[:n]) != acl) {
		t.Errorf("access list %q, %v", buf[:max(n, 0)], err)
	}
	after, _ := os.Stat(file)
	if before.Mode() != after.Mode() {
		t.Errorf("mode %v became %v", before.Mode(), after.Mode())
	}
	if st := after.Sys().(*syscall.Stat_t); owned && (st.Uid != 12345 || st.Gid != 12346) {
		t.Errorf("owner %d:%d", st.Uid, st.Gid)
	}
	t.Logf("with access list: %v, with another owner: %v", hasACL, owned)
}

func aclEntry(tag, perm byte, id int32) string {
	return string([]byte{tag, 0, perm, 0, byte(id), byte(id >> 8), byte(id >> 16), byte(id >> 24)})
}

// TestOwnerThatCannotBeKept runs as an ordinary user on files that another user owns.
func TestOwnerThatCannotBeKept(t *testing.T) {
	if dir := os.Getenv("STET_TEST_UNPRIVILEGED"); dir != "" {
		unprivileged(t, dir)
		return
	}
	if os.Geteuid() != 0 {
		t.Skip("only root can make other people's files")
	}
	dir, err := os.MkdirTemp("", "stet-owner")
	if err != nil {
		t.Fatal(err)
	}
	defer os.RemoveAll(dir)
	for name, mode := range map[string]os.FileMode{"group": 0o664, "theirs": 0o644, "mine": 0o444} {
		if err := os.WriteFile(dir+"/"+name, []byte("old"), 0o600); err != nil {
			t.Fatal(err)
		}
		uid := 0
		if name == "mine" {
			uid = 65534
		}
		if err := os.Chown(dir+"/"+name, uid, 65534); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(dir+"/"+name, mode); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	bin := dir + "/test"
	self, err := os.ReadFile("/proc/self/exe")
	if err == nil {
		err = os.WriteFile(bin, self, 0o755)
	}
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(bin, "-test.run", "^TestOwnerThatCannotBeKept$", "-test.v")
	cmd.Env = append(os.Environ(), "STET_TEST_UNPRIVILEGED="+dir, "TMPDIR=/tmp", "HOME="+dir)
	cmd.Dir = dir
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
}

func unprivileged(t *testing.T, dir string) {
	root, err := Open(dir, Options{State: dir + "/state"})
	if err != nil {
		t.Fatal(err)
	}
	defer root.Close()
	was := VersionOf([]byte("old"))
	write := func(name string) (Written, error) {
		p, err := root.Path(name)
		if err != nil {
			t.Fatal(err)
		}
		return root.Write(t.Context(), p, []byte("new"), was, WriteMode{})
	}
	w, err := write("group")
	if err != nil || !strings.Contains(strings.Join(w.Lost, ","), "owner") {
		t.Errorf("nothing is said of the owner: %v, %v", w.Lost, err)
	}
	if kept, err := root.Kept(was); err != nil || string(kept) != "old" {
		t.Errorf("kept %q, %v", kept, err)
	}
	_, err = write("theirs")
	wantErr(t, "of another user", err, ErrPermission)
	_, err = write("mine")
	wantErr(t, "read-only", err, ErrPermission)
	p, _ := root.Path("state/x")
	_, err = root.Write(t.Context(), p, nil, "", WriteMode{})
	wantErr(t, "stet's own", err, ErrProtected)
}
