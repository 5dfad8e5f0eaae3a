package history

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/stet-dev/stet/llm"
)

// rulesCase is a conversation, and what each policy leaves out of it.
type rulesCase struct {
	Name     string
	Messages []llm.Message
	Points   []Point
	Plans    map[Policy][]rulesEdit
}

// rulesEdit is an edit of a plan. The whole replacement text is compared.
type rulesEdit struct {
	Message, Part int
	Reason        Reason
	Text          string
}

// rulesCorpus returns the conversations of a new corpus. A corpus that exists is never made again.
func rulesCorpus() (all []rulesCase) {
	lines := func(from, to int, word string) string {
		var b strings.Builder
		for i := from; i <= to; i++ {
			fmt.Fprintf(&b, "%6d\tthe %s line %d of a file that an agent reads\n", i, word, i)
		}
		return b.String()
	}
	add := func(name string, points []Point, make func(c *conv)) {
		c := new(conv)
		c.add(llm.System, llm.Part{Text: "You help in /home/me/project."})
		c.user("mend the build")
		make(c)
		all = append(all, rulesCase{Name: name, Messages: c.messages, Points: points})
	}
	read := func(c *conv, file string, from, to int, word string) {
		c.call("Read", map[string]any{"file_path": "/home/me/project/" + file, "offset": from, "limit": to - from + 1}, lines(from, to, word))
	}
	bash := func(c *conv, command, output string) {
		c.call("Bash", map[string]any{"command": command}, output)
	}
	add("read again", nil, func(c *conv) {
		read(c, "a.go", 1, 30, "first")
		read(c, "b.go", 1, 30, "other")
		read(c, "a.go", 1, 30, "first")
		read(c, "a.go", 1, 30, "first")
	})
	add("read in parts", nil, func(c *conv) {
		read(c, "a.go", 1, 30, "first")
		read(c, "a.go", 15, 50, "first")
		read(c, "a.go", 10, 20, "first")
	})
	add("changed between", nil, func(c *conv) {
		read(c, "a.go", 1, 30, "first")
		c.call("Edit", map[string]any{"file_path": "/home/me/project/a.go", "old_string": "the first line 7 of", "new_string": "the new line 7 of"}, "The file was changed.")
		read(c, "a.go", 1, 30, "first")
	})
	add("outputs", nil, func(c *conv) {
		bash(c, "make", strings.Repeat("ok: built one more of the targets\n", 40)+"done in 3s\n")
		bash(c, "make", strings.Repeat("ok: built one more of the targets\n", 40)+"done in 4s\n")
		bash(c, "sed -n 1,60p a.go", lines(1, 30, "first"))
		read(c, "a.go", 1, 30, "first")
	})
	add("a cold point", []Point{{After: 26, Why: Gap}}, func(c *conv) {
		for i := range 14 {
			bash(c, fmt.Sprint("make ", i), strings.Repeat(fmt.Sprintf("%d ok: built one more of the targets\n", i), 25))
		}
	})
	add("a long report", nil, func(c *conv) {
		read(c, "a.go", 1, 30, "first")
		bash(c, "go test ./...", output(300))
		bash(c, "rg -n found src", hits(10, 30))
	})
	add("searches", nil, func(c *conv) {
		bash(c, "rg -n found src", hits(2, 40))
		bash(c, "rg -n 'found|other' src", hits(1, 30)+"src/file0.go:999:\tthe other one\n"+hits(3, 20))
		bash(c, "rg -n 'found|other' src", hits(1, 30)+"src/file0.go:999:\tthe other one\n"+hits(3, 20))
		c.call("Grep", map[string]any{"pattern": "found", "-C": 1}, strings.Repeat("src/file7.go-7-\tbeside\nsrc/file7.go:8:\tfound\nsrc/file7.go-9-\tbeside\n--\n", 9))
	})
	add("changes at a cold point", []Point{{After: 22, Why: Gap}}, func(c *conv) {
		for i := range 12 {
			bash(c, fmt.Sprint("git push origin branch-", i), strings.Repeat(fmt.Sprintf("remote: %d more of the objects is there\n", i), 25))
		}
	})
	add("an issue at a cold point", []Point{{After: 24, Why: Gap}}, func(c *conv) {
		bash(c, "gh issue view 7", lines(1, 30, "first"))
		for i := range 12 {
			bash(c, fmt.Sprint("npm test ", i), strings.Repeat(fmt.Sprintf("%d ok: one more of the tests\n", i), 25))
		}
	})
	add("a page", nil, func(c *conv) {
		bash(c, "curl -s https://example.com/retention", output(150)+"## The retention\nIt is a number of days.\n"+output(150))
	})
	return all
}

// WIRE-2: each number of the rules makes the same plans forever. With UPDATE, a corpus is made for a number that has none. An
// existing corpus is not changed.
func TestRulesStay(t *testing.T) {
	for rules := 1; rules <= NewestRules; rules++ {
		file := filepath.Join("testdata", "rules", fmt.Sprintf("%d.json", rules))
		content, err := os.ReadFile(file)
		var cases []rulesCase
		made := errors.Is(err, fs.ErrNotExist) && os.Getenv("UPDATE") != ""
		if made {
			cases = rulesCorpus()
		} else if err != nil {
			t.Fatal(err)
		} else if err := json.Unmarshal(content, &cases); err != nil {
			t.Fatal(err)
		}
		for i := range cases {
			c := &cases[i]
			plans := map[Policy][]rulesEdit{}
			plan := func(name Policy, config Config) {
				config.KeepReads, config.KeepShell, config.Fold, config.Rules = 1, 2, true, rules
				p := newEngine(t, config).Plan(c.Messages, c.Points...)
				for j, edit := range p.Edits {
					plans[name] = append(plans[name], rulesEdit{edit.Message, edit.Part, p.Omissions[j].Reason, edit.Text})
				}
			}
			for _, policy := range Policies() {
				plan(policy, Config{Policy: policy})
			}
			if rules > 1 {
				plan("bold, where thinking is checked", Config{Policy: Bold, ChecksThinking: true})
			}
			if made {
				c.Plans = plans
			} else if diff := cmp.Diff(c.Plans, plans); diff != "" {
				t.Errorf("rules %d, %s: plans have changed, and need another number: %s", rules, c.Name, diff)
			}
		}
		if made {
			text, err := json.MarshalIndent(cases, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, append(text, '\n'), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
}
