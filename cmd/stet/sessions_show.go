package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/stet-dev/stet/session"
	"github.com/stet-dev/stet/transcript"
	"github.com/stet-dev/stet/workspace"
)

func (p *program) sessionsShowCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "show SESSION",
		Short: "Show a session's conversation, with the numbers that rewind takes",
		Example: `stet sessions show latest
stet sessions show 0199 --json`,
		Args: nArgs(1, 1, "a session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return p.withState(cmd.Context(), args[0], func(st session.State, _ []session.Event) error {
				if asJSON {
					return writeState(p.out, st)
				}
				return session.WriteMarkdown(p.out, st)
			})
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print one JSON object")
	return cmd
}

// withState hands the state and the events of a session to fn, and says what of
// it is damaged.
func (p *program) withState(ctx context.Context, name string, fn func(session.State, []session.Event) error) error {
	return p.withSessions(ctx, func(store session.Store) error {
		found, err := findSession(ctx, store, name)
		if err != nil {
			return err
		}
		events, damaged, err := store.Events(ctx, found.ID, 0)
		if err != nil {
			return err
		}
		var f session.Fold
		f.Miss(damaged...)
		f.Add(events...)
		st := f.State()
		st.ID = found.ID
		for _, d := range st.Damaged {
			p.say("session %s: %s", st.ID, d)
		}
		return fn(st, events)
	})
}

// writeState writes the conversation in force as one JSON object. The messages are
// as they are stored.
func writeState(w io.Writer, st session.State) error {
	type message struct {
		Event uint64          `json:"event"`
		Body  json.RawMessage `json:"message"`
	}
	type decision struct {
		Event uint64          `json:"event"`
		Body  json.RawMessage `json:"approval"`
	}
	type damage struct {
		First uint64 `json:"first"`
		Last  uint64 `json:"last"`
		Why   string `json:"why"`
	}
	out := struct {
		jsonInfo
		Conversation []message  `json:"conversation"`
		Decisions    []decision `json:"decisions,omitempty"`
		Damaged      []damage   `json:"damaged,omitempty"`
	}{jsonInfo: jsonInfoOf(st.Info), Conversation: []message{}}
	for i, m := range st.Messages {
		body, err := session.Encode(session.Message(m))
		if err != nil {
			return err
		}
		out.Conversation = append(out.Conversation, message{st.Marks[i], body})
	}
	for i, a := range st.Approvals {
		body, err := session.Encode(a)
		if err != nil {
			return err
		}
		out.Decisions = append(out.Decisions, decision{st.Decided[i], body})
	}
	for _, d := range st.Damaged {
		out.Damaged = append(out.Damaged, damage(d))
	}
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(out)
}

// exporters write a session in a format.
var exporters = map[string]func(io.Writer, session.State, []session.Event) error{
	"json": func(w io.Writer, st session.State, events []session.Event) error {
		return session.WriteJSON(w, st.ID, events)
	},
	"markdown": func(w io.Writer, st session.State, _ []session.Event) error { return session.WriteMarkdown(w, st) },
	"claude-code": func(w io.Writer, st session.State, _ []session.Event) error {
		return transcript.WriteClaudeCode(w, &transcript.Session{ID: st.ID, Dir: st.Dir, Messages: st.Messages})
	},
}

func (p *program) sessionsExportCommand() *cobra.Command {
	var format, output string
	cmd := &cobra.Command{
		Use:   "export SESSION [flags]",
		Short: "Write a session to a file or to the standard output",
		Long: `Write a session to a file or to the standard output. "json" has all events, also those
that were rewound, byte for byte; "stet sessions import" reads it. "markdown" and
"claude-code" (the JSON lines of Claude Code's sessions) have the conversation in force.`,
		Example: `stet sessions export latest --format markdown
stet sessions export 0199 --output session.jsonl`,
		Args: nArgs(1, 1, "a session"),
		RunE: func(cmd *cobra.Command, args []string) error {
			write := exporters[format]
			if write == nil {
				return usage(cmd, fmt.Errorf("--format: want json, markdown or claude-code, not %q", format))
			}
			return p.withState(cmd.Context(), args[0], func(st session.State, events []session.Event) error {
				if output == "" {
					return write(p.out, st, events)
				}
				return p.writeNew(output, func(w io.Writer) error { return write(w, st, events) })
			})
		},
	}
	f := cmd.Flags()
	f.StringVar(&format, "format", "json", "json, markdown or claude-code")
	f.StringVarP(&output, "output", "o", "", "write to this file, which must not be there yet")
	_ = cmd.RegisterFlagCompletionFunc("format", cobra.FixedCompletions([]string{"json", "markdown", "claude-code"}, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// writeNew makes a file that only its owner can read. What could not be written
// whole is removed.
func (p *program) writeNew(path string, write func(io.Writer) error) error {
	path = p.absolute(path)
	f, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if errors.Is(err, os.ErrExist) {
		return fmt.Errorf("%s is there already: name another file, or remove it", workspace.Quote(path))
	}
	if err != nil {
		return err
	}
	if err := errors.Join(write(f), f.Close()); err != nil {
		return errors.Join(err, os.Remove(path))
	}
	return nil
}

func (p *program) sessionsSearchCommand() *cobra.Command {
	var limit int
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "search WORD...",
		Short: "Find messages that hold all the words, the newest first",
		Long: `Find messages that hold all the words, anywhere in them and in any case of letters:
in what was said, in calls with their arguments, and in the beginnings of their
results (16 KB). Titles are searched too. Quote what belongs together.`,
		Example: `stet sessions search retry budget
stet sessions search "exit status 1" --json`,
		Args: nArgs(1, -1, "the words to look for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if limit < 0 {
				return usage(cmd, fmt.Errorf("--limit: want a number of messages, 0 is all, not %d", limit))
			}
			if strings.TrimSpace(strings.Join(args, "")) == "" {
				return usage(cmd, errors.New("name the words to look for"))
			}
			return p.withSessions(cmd.Context(), func(store session.Store) error {
				hits, err := store.Search(cmd.Context(), args, limit)
				if err != nil {
					return err
				}
				return p.printHits(hits, args, asJSON)
			})
		},
	}
	f := cmd.Flags()
	f.IntVar(&limit, "limit", 20, "so many messages; 0 is all")
	f.BoolVar(&asJSON, "json", false, "print JSON, an object a line")
	return cmd
}

func (p *program) printHits(hits []session.Hit, words []string, asJSON bool) error {
	if len(hits) == 0 && !asJSON {
		p.say("nothing found")
		return nil
	}
	enc := json.NewEncoder(p.out)
	for _, h := range hits {
		who := string(h.Event.Kind())
		if m, ok := h.Event.Body.(session.Message); ok {
			who = string(m.Role)
		}
		if !asJSON {
			fmt.Fprintf(p.out, "%s  %d  %s: %s\n", h.Session, h.Event.Seq, workspace.Quote(who), h.Snippet(words))
			continue
		}
		err := enc.Encode(map[string]any{
			"session": h.Session, "event": h.Event.Seq, "time": h.Event.Time, "by": who, "text": h.Snippet(words),
		})
		if err != nil {
			return err
		}
	}
	return nil
}
