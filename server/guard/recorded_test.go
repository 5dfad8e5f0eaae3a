package guard

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/trim/dialect"
	"github.com/stet-dev/stet/trim/transcript"
)

// Of the commands in the recorded sessions few are asked about or denied because of rules that people have, and the rest is judged without a question. (GRD-1)
func TestRecordedCommands(t *testing.T) {
	root := os.Getenv("STET_TRANSCRIPTS")
	if os.Getenv("STET_SOAK") == "" || root == "" {
		t.Skip("reads all recorded sessions: set STET_SOAK=1 and STET_TRANSCRIPTS")
	}
	r := newRig(t)
	commands := []policy.Rule{rule(t, policy.Deny, "rm -rf", "", ""), rule(t, policy.Deny, "git push --force", "", ""), rule(t, policy.Deny, "git reset --hard", "", "")}
	paths := []policy.Rule{rule(t, policy.Deny, "", "migrations/**", "")}
	for name, rules := range map[string][]policy.Rule{"commands": commands, "paths": paths} {
		p := &policy.Policy{Rules: rules}
		seen, got := map[string]bool{}, map[string]int{}
		read := func(_ string, sessions []*transcript.Session, _ error) error {
			for _, s := range sessions {
				for _, m := range s.Messages {
					for _, part := range m.Parts {
						if part.Name == "" || part.Args == "" {
							continue
						}
						a := dialect.Default().Action(part.Name, part.Args)
						if a.Command == "" || a.Op != dialect.Shell && a.Op != dialect.Read || strings.Contains(a.Command, "tools.") || seen[a.Command] {
							continue
						}
						seen[a.Command] = true
						e := Event{Dir: r.dir, Tool: part.Name, Input: json.RawMessage(part.Args)}
						d, ruled := ruleShell(p, r.dir, e.Tool, r.line(e, &a))
						if ruled {
							got[d.Action.String()]++
						}
						if ruled && os.Getenv("STET_SHOW") == name+d.Action.String() {
							t.Logf("%s", a.Command)
						}
					}
				}
			}
			return nil
		}
		if err := (transcript.Opener{}).Walk([]string{root, filepath.Clean(root) + "-2"}, read); err != nil {
			t.Fatal(err)
		}
		t.Logf("rules about %s: of %d commands %d are asked about, %d denied", name, len(seen), got["ask"], got["deny"])
		if 100*got["ask"] > 2*len(seen) {
			t.Errorf("rules about %s: more than 2 %% are asked about", name)
		}
	}
}
