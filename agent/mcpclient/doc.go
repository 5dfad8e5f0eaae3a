// Package mcpclient lets a model call the tools of MCP servers. A server is a program that the package starts, or it is reached
// over HTTP. It communicates with a program over standard input and output. Over HTTP it uses the streamable transport or the
// older one with server-sent events.
//
// A [Group] connects to several servers at the same time. If one does not start, or ends, the others continue. It is reported to a person
// about the error, and each later call of its tools fails. The server is not restarted.
//
// A tool is offered as "mcp__SERVER__TOOL". Its effects are outside the workspace, so its plans have the note tool.Outside. A
// person is asked about each call of a tool that the server does not declare as read-only. The list of tools is read once, when
// the connection is made, and has a hundred tools at most.
//
// Servers are offered no sampling, no roots and no elicitation. A server gets the arguments of its calls, its directory and its
// environment, and nothing else.
package mcpclient
