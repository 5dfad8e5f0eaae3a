package terminal

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/tool"
)

// callWords describes a call in one line.
func callWords(name, args string) string {
	var in map[string]json.RawMessage
	if json.Unmarshal([]byte(args), &in) == nil {
		for _, key := range []string{"path", "file_path", "pattern", "query", "command"} {
			var s string
			if json.Unmarshal(in[key], &s) == nil && s != "" {
				return name + " " + approval.Quoted(s)
			}
		}
		if len(in) == 0 {
			return name
		}
	}
	return name + " " + short(args, 60)
}

// short returns the beginning of s on one line.
func short(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// toolResult has the common members of tool results, of our own tools and of most others.
type toolResult struct {
	Content   *string         `json:"content"`
	LinesRead *int            `json:"lines_read"`
	Error     json.RawMessage `json:"error"`
	Data      struct {
		Diff    any  `json:"diff"`
		Created bool `json:"created"`
		Write   int  `json:"write"`
	} `json:"data"`
	Stats struct {
		Lines int `json:"lines_read"`
	} `json:"stats"`
}

// outcome describes the result of a call in a few words.
func outcome(text string, failed bool) string {
	var a toolResult
	switch {
	case json.Unmarshal([]byte(text), &a) == nil:
	case strings.HasPrefix(text, `{"`) && !failed:
		return "cut: too long for the window"
	case failed:
		return short(text, 200)
	default:
		return short(text, 80)
	}
	if failed || len(a.Error) > 0 && string(a.Error) != "null" {
		return short(cmp.Or(tool.Complaint(text), text), 200)
	}
	diff, _ := a.Data.Diff.(string)
	switch {
	case diff != "":
		return plusMinus(diff)
	case a.Data.Created:
		return "made"
	case a.Data.Write > 0:
		return "written"
	case a.LinesRead != nil:
		return plural(*a.LinesRead, "line")
	case a.Stats.Lines > 0:
		return plural(a.Stats.Lines, "line")
	case a.Content != nil && *a.Content != "":
		return plural(strings.Count(strings.TrimSuffix(*a.Content, "\n"), "\n")+1, "line")
	}
	return ""
}

// plusMinus counts the lines that a unified diff adds and removes.
func plusMinus(diff string) string {
	added, removed := 0, 0
	for i, line := range strings.Split(diff, "\n") {
		switch colorOf(line, i) {
		case green:
			added++
		case red:
			removed++
		}
	}
	return fmt.Sprintf("+%d −%d", added, removed)
}

func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// thousands writes a number of tokens.
func thousands(n int) string {
	switch {
	case n >= 1_000_000:
		return fmt.Sprintf("%.1fM", float64(n)/1e6)
	case n >= 10_000:
		return fmt.Sprintf("%dk", n/1000)
	case n >= 1000:
		return fmt.Sprintf("%.1fk", float64(n)/1e3)
	}
	return fmt.Sprint(n)
}

// durationText returns a duration, or "" if it is below a second.
func durationText(d time.Duration) string {
	if d < time.Second {
		return ""
	}
	return d.Round(time.Second).String()
}
