package hazards

import (
	"net"
	"os"
	"testing"

	"golang.org/x/sys/unix"
)

// makeSpecial makes one of each kind that is no regular file.
func makeSpecial(t *testing.T, w *world) []string {
	if err := unix.Mkfifo(w.abs("fifo"), 0o666); err != nil {
		t.Fatal(err)
	}
	names := []string{"fifo"}
	d, err := os.Open(w.dir)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	t.Chdir(w.dir) // the socket's name is short then
	l, err := net.Listen("unix", "socket")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	names = append(names, "socket")
	for name, number := range map[string]uint64{"zero": unix.Mkdev(1, 5), "tty": unix.Mkdev(5, 0)} {
		if unix.Mknod(w.abs(name), unix.S_IFCHR|0o666, int(number)) == nil {
			names = append(names, name)
		}
	}
	return names
}
