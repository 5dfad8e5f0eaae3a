package replaytest

import (
	"fmt"
	"path/filepath"
	"strings"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/trim/transcript"
)

// Dump writes a session in a form that can be compared. Its file is given relative to dir.
func Dump(b *strings.Builder, s *transcript.Session, dir string) {
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
		if a.Kind != transcript.Sent {
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
