package hazards

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// newestMigration is the newest change of the database's schema.
const newestMigration = "store/sqlite/migrations/00015_trail_prune.sql"

// olderStet builds stet from the commit before that change.
func olderStet(t *testing.T) string {
	t.Helper()
	git := func(a ...string) string {
		out, err := exec.Command("git", append([]string{"-C", "../.."}, a...)...).Output()
		if err != nil {
			t.Skipf("no history to build an older stet from: git %v: %v", a, err)
		}
		return strings.TrimSpace(string(out))
	}
	added := git("log", "--diff-filter=A", "--format=%H", "--", newestMigration)
	if added == "" {
		t.Skip("no history to build an older stet from")
	}
	dir := t.TempDir()
	tree, binary := filepath.Join(dir, "tree"), filepath.Join(dir, "stet")
	tar := filepath.Join(dir, "older.tar")
	git("archive", "-o", tar, strings.Fields(added)[0]+"^")
	for _, c := range [][]string{{"mkdir", tree}, {"tar", "-xf", tar, "-C", tree}, {"go", "-C", tree, "build", "-o", binary, "./cmd/stet"}} {
		if out, err := exec.Command(c[0], c[1:]...).CombinedOutput(); err != nil {
			t.Fatalf("%v: %v: %s", c, err, out)
		}
	}
	return binary
}

// Row: two versions of stet use one state. An older server continues to run while a newer stet changes the schema. Both append to
// one chain, and nothing is lost. An older stet that starts after that is refused, says why, and changes nothing.
func TestTwoVersions(t *testing.T) {
	if !soak() {
		t.Skip("STET_SOAK=1 builds an older stet for it")
	}
	older, newer := olderStet(t), stet
	defer func() { stet = newer }()
	w := newWorld(t)
	w.config = "unread = \"allow\"\n"
	stet = older
	a := w.agent()
	a.works("write_file", args{"path": "a", "content": "1\n"})
	stet = newer
	b := w.agent()
	for _, content := range []string{"2\n", "3\n", "4\n"} {
		b.works("write_file", args{"path": "b", "content": content})
		a.works("write_file", args{"path": "a", "content": content})
		a.works("read_file", args{"path": "b"})
	}
	_ = b.Close() // writes the whole trail
	a.works("edit_file", args{"path": "a", "edits": edits("4", "5")})
	if got := w.get("a") + w.get("b"); got != "5\n4\n" {
		t.Errorf("the files hold %q", got)
	}
	_ = a.Close()
	writes := 0
	for _, e := range w.audit() {
		if e.Kind == "intent" {
			writes++
		}
	}
	if writes != 8 {
		t.Errorf("%d writes are in the trail", writes)
	}
	w.run("audit", "--verify")

	stet = older
	out, err := w.mcp().CombinedOutput()
	if err == nil || !strings.Contains(string(out), "made by a newer stet") || !strings.Contains(string(out), "nothing was changed") {
		t.Errorf("the older one starts: %v: %s", err, out)
	}
	stet = newer
	w.run("audit", "--verify")
}
