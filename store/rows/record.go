package rows

import "github.com/stet-dev/stet/record"

// The tables of package record. The columns have the names of the fields.
var (
	Requests = mapping("requests", func(r *record.Request) []column {
		u, c := &r.Usage, &r.Cache
		return []column{
			{"id", &r.ID}, {"time_us", &r.Time}, {"conversation", &r.Conversation}, {"root", &r.Root}, {"holdout", &r.Holdout}, {"agent", &r.Agent}, {"client", &r.Client},
			{"api", &r.API}, {"model", &r.Model}, {"upstream", &r.Upstream}, {"status", &r.Status}, {"policy", &r.Policy},
			{"observe", &r.Observe}, {"passed", &r.Passed}, {"cut", &r.Cut}, {"bytes_in", &r.BytesIn}, {"bytes_out", &r.BytesOut},
			{"tokens_off", &r.TokensOff}, {"tokens", &r.Tokens}, {"input", &u.Input}, {"cache_read", &u.CacheRead},
			{"cache_write", &u.CacheWrite}, {"cache_write_1h", &u.CacheWrite1h}, {"output", &u.Output}, {"reasoning", &u.Reasoning},
			{"reads", &r.Reads}, {"repeats", &r.Repeats}, {"dangling", &r.Dangling}, {"trimmed", &r.Trimmed}, {"added_ns", &r.Added},
			{"gap_ns", &c.Gap}, {"lifetime_ns", &c.Lifetime}, {"moment", &c.Moment}, {"alive", &c.Alive}, {"broke", &c.Broke},
			{"broke_at", &c.BrokeAt}, {"tool_set", &r.ToolSet}, {"web_searches", &u.WebSearches}, {"speed", &u.Speed}, {"region", &u.Region},
			{"tier", &u.Tier}, {"project", &r.Project},
		}
	})
	Trims = mapping("trims", func(t *record.Trim) []column {
		return []column{
			{"request", &t.Request}, {"time_us", &t.Time}, {"conversation", &t.Conversation}, {"call_id", &t.CallID}, {"paths", &t.Paths},
			{"reason", &t.Reason}, {"before", &t.Before}, {"after", &t.After}, {"observe", &t.Observe},
		}
	})
	Turns = mapping("turns", func(t *record.Turn) []column {
		return []column{
			{"prefix", &t.Prefix}, {"time_us", &t.Time}, {"model", &t.Model}, {"system", &t.System},
			{"tools", &t.Tools}, {"lifetime_ns", &t.Lifetime}, {"account", &t.Account}, {"conversation", &t.Conversation},
			{"thread", &t.Thread},
		}
	})
	Forms = mapping("sent_forms", func(f *record.SentForm) []column {
		return []column{{"id", &f.ID}, {"parent", &f.Parent}, {"edits", &f.Edits}}
	})
	Places = mapping("sent_places", func(p *record.SentPlace) []column {
		return []column{{"place", &p.Place}, {"key", &p.Key}, {"form", &p.Form}, {"time_us", &p.Time}, {"bound", &p.Bound}, {"drops", &p.Drops}}
	})
	Refusals = mapping("refusals", func(r *record.Refusal) []column {
		return []column{{"account", &r.Account}, {"time_us", &r.Time}}
	})
	ToolSets = mapping("tool_sets", func(s *record.ToolSet) []column {
		return []column{{"id", &s.ID}, {"tools", &s.Tools}}
	})
	ToolCalls = mapping("tool_calls", func(c *record.ToolCalls) []column {
		return []column{{"conversation", &c.Conversation}, {"agent", &c.Agent}, {"tool", &c.Tool}, {"time_us", &c.Time}, {"calls", &c.Calls}}
	})
	Notes = mapping("notes", func(n *record.Note) []column {
		return []column{{"kind", &n.Kind}, {"key", &n.Key}, {"text", &n.Text}, {"time_us", &n.Time}}
	})
	Trail = mapping("trail", func(e *record.Entry) []column {
		return []column{
			{"seq", &e.Seq}, {"time_us", &e.Time}, {"prev", &e.Prev}, {"hash", &e.Hash}, {"kind", (*string)(&e.Kind)},
			{"intent", &e.Intent}, {"root", &e.Root}, {"session", &e.Session}, {"client", &e.Client}, {"call_id", &e.CallID},
			{"tool", &e.Tool}, {"path", &e.Path}, {"bytes", &e.Bytes}, {"before", &e.Before}, {"after", &e.After},
			{"decision", &e.Decision}, {"by", &e.By}, {"outcome", &e.Outcome}, {"flags", &e.Flags}, {"request", &e.Request},
		}
	})
)
