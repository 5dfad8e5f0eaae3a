// Package agents knows how coding agents are configured: how to make an agent send its requests to another address, and where
// it keeps its list of MCP servers. The table agents has one row for each agent.
//
// Only Machine.AddServer and AddProxy, and RemoveServer and RemoveProxy, which undo them, write to an agent's own files. They keep
// a copy of the old text.
package agents

import "slices"

// agent describes one agent.
type agent struct {
	name string
	// programs are the names that start it, without directory, version and extension.
	programs []string
	// redirect changes a command line, whose argument at starts the agent, so that it sends its requests to base. nil: the usual
	// environment variables are enough.
	redirect func(m Machine, r *Redirect, at int, base string)
	// ownHost returns the host of its provider if its requests for a model go there, and would go through a forward proxy; else "". command
	// begins with its program. nil: it leaves out nothing at a base URL.
	ownHost func(m Machine, command []string) string
	// server says how to configure an MCP server; nil: the agent supports none.
	server *server
	// lasting says how to send all its runs through the proxy; nil: only a single run can be sent.
	lasting *lasting
}

// agents lists the agents in the order of the help texts.
var agents = []agent{
	{name: "claude", programs: []string{"claude", "claude-code"}, redirect: Machine.redirectClaude, ownHost: Machine.claudeOwnHost, server: &server{
		file: atProject(".mcp.json"), path: []string{"mcpServers", "stet"}, entry: entryWith(nil),
		note: `to let the agent write with these file tools only, add "permissions": {"deny": ["Edit", "Write", "NotebookEdit"]} to .claude/settings.json`,
	}, lasting: &lasting{file: Machine.claudeUserFile, values: claudeValues, env: "env"}},
	{name: "codex", programs: []string{"codex"}, redirect: Machine.redirectCodex, server: &server{
		file: Machine.codexFile, path: []string{"mcp_servers", "stet"}, entry: entryWith(map[string]any{"tool_timeout_sec": 660}), toml: true,
		note: "the server works in the directory in which Codex was started",
	}, lasting: &lasting{file: Machine.codexFile, toml: true, values: codexValues}},
	{name: "opencode", programs: []string{"opencode", "opencode-ai"}, redirect: Machine.redirectOpencode, server: &server{
		file: Machine.opencodeProjectFile, path: []string{"mcp", "stet"}, entry: opencodeServer,
		note: `to let the agent write with these file tools only, add "tools": {"edit": false, "write": false, "patch": false} to the same file`,
	}, lasting: &lasting{
		file: Machine.opencodeUserFile, values: opencodeValues,
		note: "a project's file may name another address, which counts before this one",
	}},
	{name: "aider", programs: []string{"aider"}},
	{name: "qwen", programs: []string{"qwen", "qwen-code"}, ownHost: Machine.qwenOwnHost, server: &server{
		file: atProject(".qwen/settings.json"), path: []string{"mcpServers", "stet"}, entry: entryWith(map[string]any{"timeout": 660_000}),
		note: `to let the agent write with these file tools only, add "tools": {"exclude": ["edit", "write_file"]} to the same file`,
	}},
	{name: "gemini", programs: []string{"gemini", "gemini-cli"}, redirect: Machine.redirectGemini, server: &server{
		file: atProject(".gemini/settings.json"), path: []string{"mcpServers", "stet"}, entry: entryWith(map[string]any{"timeout": 660_000}),
		note: `to let the agent write with these file tools only, add "tools": {"exclude": ["replace", "write_file"]} to the same file`,
	}},
	{name: "continue", programs: []string{"cn"}, redirect: Machine.redirectContinue},
	{name: "pi", programs: []string{"pi", "pi-coding-agent"}, redirect: Machine.redirectPi, ownHost: Machine.piOwnHost, lasting: &lasting{file: Machine.piModelsFile, values: piValues}},
	{name: "cline", programs: []string{"cline"}, redirect: Machine.redirectCline, lasting: &lasting{
		file: func(m Machine) string { return m.clineFile(nil) }, values: clineValues, note: "a Cline that runs in the background may have read the old address: end it",
	}},
	{name: "copilot", programs: []string{"copilot"}, redirect: Machine.redirectCopilot, server: &server{
		file: Machine.copilotServersFile, path: []string{"mcpServers", "stet"}, entry: copilotServer,
		note: "the server works in the directory in which Copilot CLI was started",
	}},
	{name: "vscode", server: &server{file: atProject(".vscode/mcp.json"), path: []string{"servers", "stet"}, entry: entryWith(map[string]any{"type": "stdio"}, "--root", workspaceFolder)}},
	{name: "zed", server: &server{file: atProject(".zed/settings.json"), path: []string{"context_servers", "stet"}, entry: entryWith(map[string]any{"source": "custom", "env": map[string]string{}})}},
	{name: "cursor", server: &server{file: atProject(".cursor/mcp.json"), path: []string{"mcpServers", "stet"}, entry: entryWith(nil, "--root", workspaceFolder)}},
}

// find returns an agent by its name; nil: there is none.
func find(name string) *agent {
	for i := range agents {
		if agents[i].name == name {
			return &agents[i]
		}
	}
	return nil
}

// namesOf returns the names of some of the agents.
func namesOf(which func(*agent) bool) (names []string) {
	for i := range agents {
		if which(&agents[i]) {
			names = append(names, agents[i].name)
		}
	}
	return names
}

// Program returns the name of the program that starts an agent.
func Program(name string) string {
	if a := find(name); a != nil && len(a.programs) > 0 {
		return a.programs[0]
	}
	return name
}

// Programs returns the program names of the agents that stet can send through the proxy.
func Programs() (names []string) {
	for _, a := range agents {
		if len(a.programs) > 0 {
			names = append(names, a.programs[0])
		}
	}
	slices.Sort(names)
	return names
}
