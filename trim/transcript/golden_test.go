package transcript

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"

	"github.com/stet-dev/stet/llm"
)

var update = flag.Bool("update", false, "write what was read into the golden files")

// TestGolden reads a small sample of every format. A sample is an archive with the files and, under "want", the expected
// sessions.
func TestGolden(t *testing.T) {
	names, err := filepath.Glob("testdata/golden/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatalf("no samples: %v", err)
	}
	seen := map[string]bool{}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			ar, err := txtar.ParseFile(name)
			if err != nil {
				t.Fatal(err)
			}
			dir := t.TempDir()
			var want string
			var files []txtar.File
			for _, f := range ar.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				files = append(files, f)
				path := filepath.Join(dir, f.Name)
				if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
					t.Fatal(err)
				}
				if err := os.WriteFile(path, f.Data, 0o644); err != nil {
					t.Fatal(err)
				}
			}
			target, _, _ := strings.Cut(files[0].Name, "/")
			sessions, err := Opener{}.Open(filepath.Join(dir, target))
			if err != nil {
				t.Fatal(err)
			}
			var b strings.Builder
			for _, s := range sessions {
				seen[s.Format] = true
				dump(&b, s, dir)
			}
			if got := b.String(); got != want {
				if *update {
					ar.Files = append(files, txtar.File{Name: "want", Data: []byte(got)})
					if err := os.WriteFile(name, txtar.Format(ar), 0o644); err != nil {
						t.Fatal(err)
					}
					return
				}
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	for _, f := range formatNames() {
		if !seen[f] && f != opencodeDBFormat {
			t.Errorf("no sample of %s", f)
		}
	}
}

// dump writes a session in a form that can be compared.
func dump(b *strings.Builder, s *Session, dir string) {
	file, err := filepath.Rel(dir, s.File)
	if err != nil {
		file = s.File
	}
	fmt.Fprintf(b, "session %s in %s: %s\n", s.ID, filepath.ToSlash(file), s.Format)
	fmt.Fprintf(b, "  agent %q model %q dir %q parent %q system %v\n", s.Agent, s.Model, s.Dir, s.Parent, s.HasSystem)
	if len(s.Starts)+len(s.Carried) > 0 {
		fmt.Fprintf(b, "  starts %v carried %v\n", s.Starts, s.Carried)
	}
	for _, d := range s.Damaged {
		fmt.Fprintf(b, "  damaged %d: %s\n", d.Line, d.Reason)
	}
	for _, a := range s.Answers {
		if a.Kind != Sent {
			fmt.Fprintf(b, "  billed: %s %s %s %s\n", a.Kind, a.ID, a.Model, usageText(a.Usage))
		}
	}
	for key, n := range s.UnknownUsage {
		fmt.Fprintf(b, "  unknown usage %s: %d\n", key, n)
	}
	for i := range s.Messages {
		m := &s.Messages[i]
		fmt.Fprintf(b, "%d %s", i, m.Role)
		if m.Local {
			b.WriteString(" local")
		}
		if m.ID != "" {
			fmt.Fprintf(b, " %s", m.ID)
		}
		if m.Model != "" {
			fmt.Fprintf(b, " %s", m.Model)
		}
		if !m.Time.IsZero() {
			fmt.Fprintf(b, " %s", m.Time.Format("15:04:05.999"))
		}
		if u := m.Usage; u != nil {
			fmt.Fprintf(b, " usage %s", usageText(*u))
		}
		b.WriteString("\n")
		for _, p := range m.Parts {
			switch p.Kind {
			case llm.Text:
				fmt.Fprintf(b, "    text %q\n", p.Text)
			case llm.Thinking:
				fmt.Fprintf(b, "    thinking %q raw %d\n", p.Text, len(p.Raw))
			case llm.ToolCall:
				fmt.Fprintf(b, "    call %s %s %q\n", p.CallID, p.Name, p.Args)
			case llm.ToolResult:
				fmt.Fprintf(b, "    result %s error %v %q\n", p.CallID, p.IsError, p.Text)
			default:
				fmt.Fprintf(b, "    opaque %s\n", p.Raw)
			}
		}
	}
}

func usageText(u llm.Usage) string {
	return strings.ReplaceAll(fmt.Sprintf("%+v", u), " WebSearches:0 Speed: Region: Tier:}", "}")
}
