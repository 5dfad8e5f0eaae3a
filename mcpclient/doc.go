// Package mcpclient lets a model call the tools of MCP servers: programs that
// it starts and speaks with on their standard input and output, and servers over
// HTTP, by the streamable transport or by the older one of server-sent events.
//
// A [Group] connects to several at once. If one does not start, or ends, the
// others go on. The person gets an error about it, and so does each later call of
// its tools. It is not started again.
//
// A tool is offered as "mcp__SERVER__TOOL". Its effects are outside the workspace:
// its plans have the note tool.Outside, and a person is asked about each call that
// the server does not call read-only. The tools are those that the server had when
// it was connected to, a hundred at most.
//
// Servers are offered no sampling, no roots and no elicitation: a server gets the
// arguments of its calls, its directory and its environment, and nothing else.
package mcpclient
