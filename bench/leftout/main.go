// Leftout lists what the default policy leaves out of recorded sessions, for a reader who judges it: would the agent ask for the text
// again, and does the line in its place mislead it. It prints session text, so its output stays on this machine.
//
//	cd bench && go run ./leftout [-policy NAME] [-checked] [-sessions N] [-seed N] PATH...
//
// The caches live as the recordings show. A part is listed at the first request without it. An answer that would have asked
// for it is marked: by a whole line or the text of an edit ("line"), or by a name alone ("name").
package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"strings"

	"github.com/stet-dev/stet/bench/formats"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/prices"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/replay"
	"github.com/stet-dev/stet/trim/replay/check"
	"github.com/stet-dev/stet/trim/transcript"
)

func main() {
	policy := flag.String("policy", string(trim.Adaptive), "the policy")
	checked := flag.Bool("checked", false, "as if the provider checked what is before thinking")
	sessions := flag.Int("sessions", 30, "so many sessions in which something is left out")
	seed := flag.Uint64("seed", 1, "of the order in which sessions are taken")
	flag.Parse()
	if err := run(os.Stdout, trim.Config{Policy: trim.Policy(*policy), ChecksThinking: *checked, Clears: *checked}, *sessions, *seed, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "leftout:", err)
		os.Exit(1)
	}
}

func run(out io.Writer, c trim.Config, most int, seed uint64, paths []string) error {
	if len(paths) == 0 {
		return errors.New("name session files, or directories of them")
	}
	policy, err := replay.Ours(c)
	if err != nil {
		return err
	}
	var all []*transcript.Session
	err = transcript.Opener{Formats: formats.All()}.Walk(paths, func(_ string, sessions []*transcript.Session, _ error) error {
		all = append(all, sessions...)
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortStableFunc(all, func(a, b *transcript.Session) int { return cmp.Compare(a.File, b.File) })
	rand.New(rand.NewPCG(14, seed)).Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	for _, s := range all {
		if most == 0 {
			break
		}
		l := listing{replay: replay.New(s, &replay.Config{}), left: make(map[int]*leaving)}
		if err := l.play(policy); err != nil {
			return err
		}
		if len(l.left) > 0 {
			l.print(out)
			most--
		}
	}
	return nil
}

// listing is what left in a session.
type listing struct {
	replay  *replay.Replay
	view    *check.View
	request int
	left    map[int]*leaving // by part
}

// leaving is a part that left.
type leaving struct {
	check.Omission
	request      int // the first one without it
	reason       trim.Reason
	line, byName []int // requests whose answers would have asked for it
}

// play sends the session through a policy.
func (l *listing) play(policy replay.Policy) error {
	l.view = l.replay.Index().View()
	begin := func(s replay.Setting) replay.Planner { return &watched{policy(s).(replay.CachePlanner), l} }
	rule := replay.Rule{Rule: l.replay.OwnRule(prices.Rules()[0]), Recorded: true}
	_, err := l.replay.Under(context.Background(), begin, []replay.Rule{rule})
	return err
}

// watched is a planner whose plans are listed.
type watched struct {
	replay.CachePlanner
	l *listing
}

func (w *watched) Plan() replay.Plan {
	p := w.CachePlanner.Plan()
	w.l.note(p)
	return p
}

// note lists what the plan of the next request leaves out.
func (l *listing) note(p replay.Plan) {
	r, i := l.replay, l.request
	l.request++
	var omissions []check.Omission
	for _, o := range p.Omissions {
		part := r.First[r.Requests[i].From+o.Message] + o.Part
		omissions = append(omissions, check.Omission{Part: part, Placeholder: o.Text, Pointer: o.Pointer})
		if l.left[part] == nil {
			l.left[part] = &leaving{Omission: omissions[len(omissions)-1], request: i, reason: o.Reason}
		}
	}
	l.view.Show(i, omissions)
	byLine := l.view.Recalls(i)
	for _, part := range byLine {
		l.left[part].line = append(l.left[part].line, i)
	}
	for _, part := range l.view.RecallsByName(i, byLine) {
		if of := l.left[part]; !slices.Contains(byLine, part) {
			of.byName = append(of.byName, i)
		}
	}
}

func (l *listing) print(out io.Writer) {
	r := l.replay
	fmt.Fprintf(out, "\n## %s (%s, %s): %d requests, %d parts left\n", r.Session.File, r.Session.Product, r.Session.Model, len(r.Requests), len(l.left))
	var parts []int
	for part := range l.left {
		parts = append(parts, part)
	}
	slices.Sort(parts)
	for _, part := range parts {
		of, p := l.left[part], r.Parts[part]
		call := p.Part
		if p.Kind == llm.ToolResult {
			if call = r.Call(part); call == nil {
				call = &llm.Part{}
			}
		}
		text := p.Text
		if p.Kind == llm.ToolCall {
			text = p.Args
		}
		fmt.Fprintf(out, "- part %d, request %d, %s, %d bytes: %s %s\n", part, of.request, of.reason, len(text), call.Name, short(call.Args))
		fmt.Fprintf(out, "  => %s\n", short(of.Placeholder))
		if !of.Pointer {
			fmt.Fprintf(out, "  was: %s\n", short(text))
		}
		for how, at := range map[string][]int{"line": of.line, "name": of.byName} {
			for _, i := range at {
				fmt.Fprintf(out, "  asked by %s at %d: %s\n", how, i, short(answer(r, i)))
			}
		}
	}
}

// answer returns the text and the calls of the answer to a request.
func answer(r *replay.Replay, i int) string {
	var all []string
	for _, p := range r.Session.Messages[r.Requests[i].To].Parts {
		if p.Kind == llm.Text || p.Kind == llm.ToolCall {
			all = append(all, p.Text+p.Name+" "+p.Args)
		}
	}
	return strings.Join(all, " ")
}

// short is a text in one line of bounded length.
func short(text string) string {
	const most = 300
	text = strings.Join(strings.Fields(text), " ")
	if len(text) > most {
		text = text[:most*2/3] + " … " + text[len(text)-most/3:]
	}
	return text
}
