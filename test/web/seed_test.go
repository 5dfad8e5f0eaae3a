package web

import (
	"context"
	"errors"
	"fmt"
	"math"
	"time"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/session"
)

// seeded has the names in the invented sessions and requests, and the number of days of the requests.
type seeded struct {
	title, other string // the titles of the two sessions
	model        string
	agents       [2]string
	path         string // format of a path, with the numbers of a part and of a file
	days         int
}

// names returns short names, or names as long as those of real projects and agents.
func names(long bool) seeded {
	if long {
		return seeded{
			title:  "Give uploads a retry budget that is kept for each customer and each region, and say in the log why an upload was given up",
			other:  "Why does the login test for federated identities of enterprise customers fail on Mondays, but only on the build machines in Frankfurt?",
			model:  "claude-sonnet-4-5-20250929",
			agents: [2]string{"claude-code/2.1.207", "opencode/1.15.11"},
			path:   "packages/customer-onboarding/src/features/identity-verification/components/part%d/DocumentUploadStep%d.integration.test.tsx",
			days:   1,
		}
	}
	return seeded{
		title: "Give uploads a retry budget", other: "Why does the login test fail on Mondays?", model: "example-large",
		agents: [2]string{"example-agent", "other-agent"}, path: "internal/part%d/file%d.go", days: 21,
	}
}

// seed adds invented sessions and requests to the stores.
func (h *rig) seed(ctx context.Context, names seeded) error {
	say := func(role llm.Role, text string) session.Body {
		return session.Message{Role: role, Parts: []llm.Part{{Kind: llm.Text, Text: text}}}
	}
	call := func(id, name, args, result string) []session.Body {
		return []session.Body{
			session.Message{
				Role: llm.Assistant, Model: names.model, Usage: &llm.Usage{Input: 900, CacheRead: 41_000, CacheWrite: 2_100, Output: 350},
				Parts: []llm.Part{{Kind: llm.Thinking, Text: "The limit is checked in one place only."}, {Kind: llm.ToolCall, CallID: id, Name: name, Args: args}},
			},
			session.Message{Role: llm.Tool, Parts: []llm.Part{{Kind: llm.ToolResult, CallID: id, Text: result}}},
		}
	}
	talk := []session.Body{session.Title(names.title), say(llm.User, "Uploads retry for ever. Give them a budget.")}
	talk = append(talk, call("c1", "read_file", `{"path":"internal/upload/retry.go"}`, longText(240))...)
	talk = append(talk, call("c2", "search_text", `{"query":"retry("}`, longText(60))...)
	talk = append(talk, say(llm.Assistant, "Each upload may now retry five times in a minute.\nShall I make the number a setting?"), say(llm.User, "No. Keep it small."))
	if _, err := session.Create(ctx, h.hub, session.Opening{Dir: project}, talk...); err != nil {
		return err
	}
	if _, err := session.Create(ctx, h.hub, session.Opening{Dir: "/home/me/other"}, say(llm.User, names.other)); err != nil {
		return err
	}
	return h.store.Append(ctx, names.requests())
}

// say adds a message to the first session of seed.
func (h *rig) say(ctx context.Context, text string) error {
	found, err := session.Latest(ctx, h.hub, project)
	if err != nil {
		return err
	}
	s, err := session.Resume(ctx, h.hub, found.ID)
	if err != nil {
		return err
	}
	return s.Append(ctx, session.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.Text, Text: text}}})
}

// sayElsewhere adds a message to the session of another process. The first call begins that session.
func (h *rig) sayElsewhere(ctx context.Context, text string) error {
	body := session.Message{Role: llm.User, Parts: []llm.Part{{Kind: llm.Text, Text: text}}}
	found, err := session.Latest(ctx, h.elsewhere, elsewhere)
	if errors.Is(err, session.ErrNotFound) {
		_, err = session.Create(ctx, h.elsewhere, session.Opening{Dir: elsewhere}, body)
		return err
	}
	if err != nil {
		return err
	}
	s, err := session.Resume(ctx, h.elsewhere, found.ID)
	if err != nil {
		return err
	}
	return s.Append(ctx, body)
}

// elsewhere is the directory in which another process works.
const elsewhere = "/home/me/elsewhere"

func longText(lines int) string {
	s := ""
	for i := range lines {
		s += fmt.Sprintf("%4d | func step%d() error { return nil }\n", i+1, i+1)
	}
	return s
}

// requests returns the requests of the days.
func (names seeded) requests() record.Batch {
	var b record.Batch
	now := time.Now()
	reasons := []string{"repeat", "older", "terminal", "partial", "idle"}
	for day := range names.days {
		for i := range 14 {
			id := fmt.Sprintf("r%02d-%02d", day, i)
			at := now.Add(-time.Duration(names.days-1-day)*24*time.Hour - time.Duration(14-i)*4*time.Minute)
			grown := 16_000 + i*6_500 + int(9_000*math.Abs(math.Sin(float64(day))))
			kept := grown * (70 - i) / 75
			read := kept * 9 / 10
			agent, model := names.agents[0], names.model
			if day%3 == 0 && names.days > 1 {
				agent, model = names.agents[1], "example-small"
			}
			conversation := fmt.Sprintf("%s-%02d", agent, day)
			b.Requests = append(b.Requests, record.Request{
				ID: id, Time: at, Conversation: conversation, Client: agent, API: llm.Chat, Model: model, Status: 200, Policy: "lossless",
				BytesIn: int64(grown * 4), BytesOut: int64(kept * 4), TokensOff: grown, Tokens: kept, Reads: i, Trimmed: i / 2, Project: "/home/me/garden",
				Usage: record.Usage{Input: kept / 50, CacheRead: read, CacheWrite: kept - read, Output: 400 + 30*i}, Added: 900 * time.Microsecond,
			})
			for j := range i / 3 {
				b.Trims = append(b.Trims, record.Trim{
					Request: id, Time: at, Conversation: conversation, CallID: fmt.Sprintf("call-%d-%d", i, j),
					Paths: []string{fmt.Sprintf(names.path, j, i)}, Reason: reasons[(i+j)%len(reasons)], Before: 9_000 + 100*i, After: 80,
				})
			}
		}
	}
	b.Notes = []record.Note{
		{Kind: record.NoteMeter, Key: "a", Text: `{"provider":"anthropic","limit":"5h","used":0.42}`, Time: now},
		{Kind: record.NoteMeter, Key: "b", Text: `{"provider":"anthropic","limit":"5h","used":0.07,"reset":"` + now.Add(time.Hour).Format(time.RFC3339) + `"}`, Time: now}, // of another account
		{Kind: record.NoteMeter, Key: "c", Text: `{"provider":"codex","limit":"a-long-name-of-a-limit-of-models-that-cost-more-primary 7d","used":1.02,"reset":"` + now.Add(-time.Hour).Format(time.RFC3339) + `"}`, Time: now},
		{Kind: record.NoteCap, Key: "day", Text: `{"scope":"day","limit":"$5.00","spent":"$4.20","share":0.84,"over":"$0.10","refused":2}`, Time: now},
	}
	return b
}
