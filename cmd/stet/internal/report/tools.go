package report

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/stet-dev/stet/record"
)

// Tools is the output of `stet tools --json`: the cost of tool descriptions, and how often the tools were called.
type Tools struct {
	Agents []toolAgent `json:"agents"`
}

// toolAgent is what one agent offered to models.
type toolAgent struct {
	Agent    string       `json:"agent"`
	Requests int          `json:"requests"` // requests that offer tools
	Tokens   int          `json:"tokens"`   // tokens of the tools in all of them
	Unused   int          `json:"unused"`   // part of Tokens for tools that were never called
	Servers  []toolServer `json:"servers"`
}

// toolServer has the tools of one MCP server, or the agent's own tools.
type toolServer struct {
	Server string     `json:"server"` // empty: the agent's own
	Tokens int        `json:"tokens"`
	Calls  int        `json:"calls"`
	Tools  []toolCost `json:"tools"`
}

type toolCost struct {
	Tool     string `json:"tool"`
	Requests int    `json:"requests"` // requests that offer it
	Tokens   int    `json:"tokens"`   // in all of them
	Calls    int    `json:"calls"`
}

// ToolsOf counts the tools of recorded requests.
func ToolsOf(requests []record.Request, sets []record.ToolSet, calls []record.ToolCalls) *Tools {
	type tool struct{ agent, name string }
	type user struct{ conversation, agent string }
	offered := make(map[uint64][]record.OfferedTool, len(sets))
	for _, s := range sets {
		offered[s.ID] = s.Tools
	}
	costs := map[tool]*toolCost{}
	clients := map[user]string{}
	asked := map[string]int{}
	for i := range requests {
		r := &requests[i]
		tools := offered[r.ToolSet]
		if r.Status < 200 || r.Status > 299 || len(tools) == 0 {
			continue
		}
		client := cmp.Or(r.Client, "unknown agent")
		clients[user{r.Conversation, r.Agent}] = client
		asked[client]++
		for _, o := range tools {
			key := tool{client, o.Name}
			if costs[key] == nil {
				costs[key] = &toolCost{Tool: o.Name}
			}
			costs[key].Requests++
			costs[key].Tokens += o.Tokens
		}
	}
	for _, c := range calls {
		if cost := costs[tool{clients[user{c.Conversation, c.Agent}], c.Tool}]; cost != nil {
			cost.Calls += c.Calls
		}
	}
	byAgent := map[string]*toolAgent{}
	for key, cost := range costs {
		if byAgent[key.agent] == nil {
			byAgent[key.agent] = &toolAgent{Agent: key.agent, Requests: asked[key.agent]}
		}
		byAgent[key.agent].add(*cost)
	}
	out := &Tools{Agents: []toolAgent{}}
	for _, a := range byAgent {
		a.sort()
		out.Agents = append(out.Agents, *a)
	}
	slices.SortFunc(out.Agents, func(a, b toolAgent) int {
		return cmp.Or(cmp.Compare(b.Tokens, a.Tokens), cmp.Compare(a.Agent, b.Agent))
	})
	return out
}

func (a *toolAgent) add(c toolCost) {
	a.Tokens += c.Tokens
	if c.Calls == 0 {
		a.Unused += c.Tokens
	}
	server := serverOf(c.Tool)
	i := slices.IndexFunc(a.Servers, func(s toolServer) bool { return s.Server == server })
	if i < 0 {
		i = len(a.Servers)
		a.Servers = append(a.Servers, toolServer{Server: server})
	}
	s := &a.Servers[i]
	s.Tokens += c.Tokens
	s.Calls += c.Calls
	s.Tools = append(s.Tools, c)
}

// sort sorts by cost, the most expensive first.
func (a *toolAgent) sort() {
	slices.SortFunc(a.Servers, func(s, t toolServer) int {
		return cmp.Or(cmp.Compare(t.Tokens, s.Tokens), cmp.Compare(s.Server, t.Server))
	})
	for _, s := range a.Servers {
		slices.SortFunc(s.Tools, func(b, c toolCost) int {
			return cmp.Or(cmp.Compare(c.Tokens, b.Tokens), cmp.Compare(b.Tool, c.Tool))
		})
	}
}

// serverOf returns the MCP server in a tool's name: mcp__SERVER__TOOL.
func serverOf(tool string) string {
	rest, ok := strings.CutPrefix(tool, "mcp__")
	if server, _, found := strings.Cut(rest, "__"); ok && found {
		return server
	}
	return ""
}

// Print writes the tools as text. days is the number of days covered; 0: all.
func (t *Tools) Print(w io.Writer, days int) {
	const columns = "%-40s %8s %8s %12s %7s\n"
	for i, a := range t.Agents {
		if i > 0 {
			fmt.Fprintln(w)
		}
		fmt.Fprintf(w, "%s  %s, %s tokens of tools in each\n\n", Bold(a.Agent), Count(a.Requests, "request"), Grouped(a.Tokens/max(a.Requests, 1)))
		fmt.Fprint(w, Faint(strings.TrimSuffix(fmt.Sprintf(columns, "tool", "tokens", "requests", "in all", "calls"), "\n"))+"\n")
		for _, s := range a.Servers {
			indent := ""
			if s.Server != "" {
				indent = "  "
				fmt.Fprintf(w, columns, Cropped("mcp__"+s.Server+"__*", 40), "", "", Grouped(s.Tokens), Grouped(s.Calls))
			}
			for _, c := range s.Tools {
				fmt.Fprintf(w, columns, indent+Cropped(c.Tool, 40-len(indent)), Grouped(c.Tokens/c.Requests), Grouped(c.Requests), Grouped(c.Tokens), Grouped(c.Calls))
			}
		}
		if a.Unused > 0 {
			fmt.Fprintf(w, "\nof tools that were never called: %s tokens, %s\n", Grouped(a.Unused), share(a.Unused, a.Tokens))
		}
	}
	if days > 0 {
		fmt.Fprintf(w, "\nthe last %s; tokens are estimated\n", Count(days, "day"))
	} else {
		fmt.Fprint(w, "\nall that is recorded; tokens are estimated\n")
	}
}
