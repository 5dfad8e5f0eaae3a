package report

import (
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/stet-dev/stet/files/workspace"
	"github.com/stet-dev/stet/record"
)

// EntryLine returns an entry as text for people.
func EntryLine(e record.Entry) string {
	what := cmp.Or(e.Outcome, string(e.Kind))
	if e.Kind != record.Call && e.Kind != record.Outcome && e.Kind != record.Intent {
		what = string(e.Kind)
	}
	line := fmt.Sprintf("%6d  %s  %-10s %s: %s", e.Seq, e.Time.Local().Format(time.DateTime), orNone(e.Tool), orNone(e.Path), what)
	if e.Kind == record.Changed {
		line += fmt.Sprintf(" %s", Count(int(e.Bytes), "path"))
	}
	if e.Kind == record.Prune || e.Kind == record.Loss {
		line += fmt.Sprintf(", up to entry %d", e.Intent)
	}
	if e.Decision != "" {
		line += fmt.Sprintf(" (%s, by %s)", workspace.Quote(e.Decision), workspace.Quote(e.By))
	}
	if e.Kind == record.Intent && e.Path != "" {
		line += fmt.Sprintf(" %s -> %s", shortHash(e.Before), shortHash(e.After))
	}
	if len(e.Flags) > 0 {
		line += " [" + workspace.Quote(strings.Join(e.Flags, ", ")) + "]"
	}
	if e.Session != "" {
		line += "  session " + workspace.Quote(e.Session) // last: it is long, and a terminal may be narrow
	}
	return line
}

// orNone returns a text of others for a terminal; "-": there is none.
func orNone(s string) string {
	if s == "" {
		return "-"
	}
	return workspace.Quote(s)
}

// shortHash is the beginning of a content hash.
func shortHash(hash string) string {
	if hash == "" {
		return "(no file)"
	}
	return hash[:min(12, len(hash))]
}

// Verification writes the result of checking the chain of the audit trail.
func Verification(w io.Writer, v record.Verdict) {
	entries := "1 entry holds"
	if v.Entries != 1 {
		entries = fmt.Sprintf("%d entries hold", v.Entries)
	}
	fmt.Fprintf(w, "%s together\n", entries)
	if v.Entries > 0 {
		fmt.Fprintf(w, "the last is %s\n", v.Head)
	}
	if v.Pruned.Seq > 0 && v.Broken == nil {
		fmt.Fprintf(w, "the entries up to %s were pruned\n", v.Pruned)
	}
	for _, e := range v.Losses {
		fmt.Fprintf(w, "entry %d says that the entries up to %d were lost, and that a person knows of it\n", e.Seq, e.Intent)
	}
	for _, e := range v.Open {
		fmt.Fprintf(w, "write %d to %s has no outcome: it is under way, or was cut off\n", e.Seq, workspace.Quote(e.Path))
	}
}

// VerificationJSON writes the same as one JSON object.
func VerificationJSON(w io.Writer, v record.Verdict) error {
	all := map[string]any{"entries": v.Entries, "head": v.Head.String(), "losses": len(v.Losses), "open": len(v.Open)}
	if v.Broken != nil {
		all["broken"], all["why"] = v.Broken.Seq, v.Broken.Why
	}
	return json.NewEncoder(w).Encode(all)
}

// Writes writes the writes of each session that can be undone.
func Writes(w io.Writer, sessions [][]record.Write) {
	for _, writes := range sessions {
		first := writes[0]
		fmt.Fprintf(w, "session %s, %s, in %s\n", workspace.Quote(first.Session), workspace.Quote(first.Client), workspace.Quote(first.Root))
		for _, one := range writes {
			note := ""
			switch {
			case one.Open:
				note = " (whether it was done is not known)"
			case one.Before == "":
				note = " (made)"
			case one.After == "":
				note = " (removed)"
			}
			fmt.Fprintf(w, "%8d  %s  %s %s%s\n", one.Seq, one.Time.Local().Format(time.DateTime), workspace.Quote(one.Tool), workspace.Quote(one.Path), note)
		}
	}
}
