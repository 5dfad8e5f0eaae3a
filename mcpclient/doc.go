// Package mcpclient lets a model call the tools of MCP servers: programs that
// it starts and speaks with on their standard input and output, and servers over
// HTTP, by the streamable transport or by the older one of server-sent events.
//
// A [Group] connects to several at once. One that does not start, or ends, is no
// reason to do without the others: what is wrong with it is a sentence for the
// person, and the result of each later call of its tools. It is not started
// again.
//
// A tool is offered as "mcp__SERVER__TOOL". What it does is done outside: its
// plans bear tool.Outside, and who runs them asks a person for each that its
// server does not call read-only. The tools are those that the server had when it
// was connected to, as far as a model can be told of them: not more than a hundred.
//
// Servers are offered no sampling, no roots and no elicitation: a server gets the
// arguments of its calls, its directory and its environment, and nothing else.
package mcpclient
