// Package archtest checks the structure of the module. It has the table of allowed imports, with the reason for each row, and the
// rules for every file. Its test checks the whole module.
//
// If the design changes, change the table, with the reason. Do not work around it.
package archtest

import (
	"slices"
	"strings"
)

// module is the prefix of this module's import paths.
const module = "github.com/stet-dev/stet"

// group is a room of the house: the packages at and below a path.
type group struct {
	path  string
	lines int    // at most so many lines of Go without tests; the sum has a limit too
	why   string // what lives there; who raises lines says here for what
}

// groups are the rooms, from the ground up. Imports go down only: to an earlier group, or inside the group.
var groups = []group{
	{"internal", 7026, "mechanisms without a word of the product; 26 for the rule of public addresses, which was in the page and in the forward proxy; 20 for a file that is replaced with its mode in one way everywhere"},
	{"tool", 511, "a tool call: description, plan, result, codes of errors; 14 for the error in a result, which two fronts read each by itself"},
	{"llm", 11329, "a conversation's words, the codecs of wire formats and the table of them, counting, prices, the scripted model; 170 for that table, for regions, and for the title of a conversation, which was in internal"},
	{"record", 1322, "what is recorded of requests and calls: the audit trail, usage; a seam without drivers; 120 for the price of a request with nothing left out, limits and meters, which the command and the page read by one function; 10 for the turns of each thread; 30 for reading the record in parts, 8 for reading it by arrival, 28 for the newest request of a conversation, which the command and the page found each by itself"},
	{"files", 17782, "the agent's hands: paths, versions, tools, rules, approval; 17 for a call whose record begins again; 3,350 for undoing what agents do with their own tools, in directories that they closed too; 50 for buttons in messages, 60 for a limit on the names that a pattern looks at, 60 for hints where nothing is found, 142 for names that look like another form of path, composed characters, texts that begin as binary files do, and control characters"},
	{"trim", 20419, "what is left out of a request, recorded sessions, and what that saves; 34 for an account by tokens, 5 for commands in placeholders; 90 for dollars and long-context prices; 320 for what a command line runs or opens without saying so"},
	{"session", 2097, "stored conversations"},
	{"agent", 3020, "the loop: message, model, tools"},
	{"server", 27788, "the fronts; none imports another; 38 for calls that are answered at two places at once; 3 for sub-agents that go on when the main agent ends its turn; 9 for a call that was answered at the agent and in the queue; 1 for limits of subscriptions that are not of the usual form; 105 for messages to browsers; 2,635 for the guard and its questions, 700 for the forward proxy, 700 for limits, the holdout and subscriptions' meters"},
	{"store", 3894, "where records and sessions are kept; 10 for the turns of each thread, 23 for reading by arrival"},
	{"cmd", 27629, "the command, and what only it uses; 8 for sub-agents that go on, as Claude Code tells it; 29 for variables, flags and configuration files that are named as wrong; 24 for another stet at the guard's address; 102 for programs that outlive their agent, and private networks behind the forward proxy; 235 for messages to browsers; 1,350 for the guard's hooks, of seven agents, and its undo, 850 for the comparison of agents' requests, 1,000 for the forward proxy and a proxy that is started again, 1,100 for savings --live and --habits"},
	{"test", 0, "suites and rigs, importable from outside; not counted as product"},
}

// Limits of the whole, in lines and packages (make loc). They are what was there when the limits began, and come down.
const (
	maxProduct  = 122817 // 38 for calls that are answered at two places at once; 11 for sub-agents that go on when the main agent ends its turn; 25 for a call that was answered at the agent and in the queue; 45 for inputs that are named as wrong, and refusals in the form of an API; 24 for another stet at the guard's address, 126 for what people stumbled over in names and texts, 50 for limits that read the record by arrival, 100 for programs that outlive their agent, 340 for messages to browsers, 7,355 for the guard and its questions, 2,300 for the forward proxy, 700 for thinking and line numbers that leave, 1,950 for one's own traffic and limits
	maxTests    = 109632 // 5 for tests that wait for what they need; 206 for agents and people in random orders of events; 39 for the same; 57 for a call that was answered at the agent and in the queue; 592 for kinds of recorded sessions with their sums, habits whose examples are opened, and agents that name no session; 230 for names and texts that people stumbled over, 33 for texts whose tokens are short or long, 60 for whose an error was, 30 for a second undo, and what is made meanwhile, 50 for days where the clock changes, 150 for foreign sessions with other spellings and thinking, and for the bytes that are stored a request, 60 for an undo that is killed at any step, and a file that is mounted; 90 for rows by arrival, 270 for agents in a terminal, programs that outlive an agent and slow clients, 70 for the rules of the scripted model, which are a package of their own, 655 for a push service that decrypts, messages to browsers and calls that other hooks change, 1,100 for the forward proxy and for kills, 5,600 for the guard, its questions and the spellings that its rules judge, 1,100 for one's own traffic and limits
	maxApart    = 16000  // the module bench, suites, and the page's own source
	maxPackages = 72
)

// row is the table's entry for one package, or for all packages below a path that ends in "/*".
type row struct {
	path   string
	may    []string // packages of this module that it may import besides mechanisms (the group internal); "*": every group below its own
	reason string
}

// table is the import table.
var table = []row{
	{"internal/merge3", []string{"internal/diff"}, "a three-way merge is two diffs"},
	{"internal/rpclines", []string{"internal/invisible", "internal/limits", "internal/rawjson"}, "messages, one a line: what a client chooses in them is found and measured, and not decoded"},
	{"internal/httpguard", []string{"internal/invisible", "internal/limits"}, "checks requests before their handlers: bodies may begin with a byte-order mark, and URLs have limits"},
	{"internal/*", []string{"internal/invisible"}, "mechanisms without a view of the product; what they read may begin with a byte-order mark"},

	{"tool", nil, "the words of a tool call, which everything may use; what a call would change is a diff"},

	{"llm", []string{"tool"}, "a conversation holds tool calls"},
	{"llm/prices", []string{"llm"}, "prices what llm.Usage counts"},
	{"llm/tokens", []string{"llm", "llm/prices"}, "the price data says how a model counts; the vocabularies are large, and apart"},
	{"llm/tokens/exact", []string{"llm/tokens", "llm/prices", "llm/tokens/bpe"}, "the price data names the vocabulary of each model; bpe counts in it"},
	{"llm/tokens/bpe", nil, "byte-pair encoding alone"},
	{"llm/llmtest", []string{"llm", "llm/*"}, "a scripted model speaks every wire format"},
	{"llm/apis", []string{"llm", "llm/*"}, "the table of wire formats has a row of each codec"},
	{"llm/endpoint", []string{"llm"}, "the client of every API; which one is handed in"},
	{"llm/*", []string{"llm"}, "a codec turns bodies into the words and patches them; no HTTP, so that readers of sessions can use it"},

	{"record", []string{"llm"}, "what is recorded of calls and requests, with their usage; a seam without drivers"},

	{"files/workspace", nil, "the one door to the disk"},
	{"files/policy", []string{"tool"}, "decides about a call, does no I/O; a path is looked through for a pattern's text before it is matched"},
	{"files/freshness", []string{"files/workspace"}, "folds what the workspace observed"},
	{"files/snapshot", nil, "what a command changed in a tree, and how to put it back: directories by descriptor, git's objects through git"},
	{"files/approval", []string{"tool", "files/policy", "record"}, "plan, decide, ask, apply, and write it down"},
	{"files/filetools", []string{"tool", "files/policy", "files/workspace", "files/freshness", "record"}, "the tools over the one door; arguments are read from JSON; what is not seen is noted; patterns are those of the policy"},

	{"trim", []string{"llm", "llm/tokens", "trim/dialect"}, "plans over words alone: no disk, no wire"},
	{"trim/dialect", nil, "reads calls and results"},
	{"trim/transcript", []string{"llm", "llm/*"}, "recorded sessions become words, usage by the codecs; what they mean is dialect's"},
	{"trim/replay/check", []string{"llm", "trim/dialect", "trim/transcript"}, "a recorded session taken apart, and what a smaller request lost of it; without the engine"},
	{"trim/replay", []string{"llm", "trim", "trim/transcript", "llm/tokens", "llm/prices", "trim/replay/check"}, "a recording through a policy, priced"},
	{"trim/replay/bench", []string{"trim/replay", "trim", "trim/transcript", "llm/tokens", "llm/prices"}, "policies compared on many sessions; `stet bench` and the module bench"},

	{"session", []string{"llm", "files/freshness"}, "events and their fold; a seam without drivers"},

	{"agent", []string{"llm", "tool", "trim", "session", "llm/tokens", "llm/prices", "files/freshness"}, "the loop"},
	{"agent/mcpclient", []string{"tool"}, "the tools of others as tools: what filetools are for files; no front end, so that each of them can have it"},

	{"server/proxy", []string{"llm", "llm/*", "trim", "llm/tokens", "llm/prices", "record", "server/proxy/*"}, "no other front end, no driver: cmd hands it a store"},
	{"server/proxy/prefix", []string{"llm"}, "hashes what the providers' caches go by: the words of a request; arguments of calls are JSON"},
	{"server/proxy/cachestate", []string{"llm", "record", "trim", "server/proxy/prefix"}, "what is believed of a provider's cache: no wire and no disk; a verdict names trim's cold points"},
	{"server/proxy/sent", []string{"llm", "record", "server/proxy/prefix"}, "how conversations were sent: no wire; a store is handed in"},
	{"server/proxy/threads", nil, "conversations that a provider keeps too, as raw JSON: no API and no codec"},
	{"server/connect", nil, "a forward proxy: hands requests for a model to a handler, and knows no API; its table of hosts comes from cmd"},
	{"server/gateway/wire", []string{"files/approval"}, "frames on a wire are a format, read by both ends; what they carry is found and not decoded, except questions, which have one JSON everywhere"},
	{"server/gateway/*", []string{"server/gateway", "server/gateway/wire"}, "a bus carries frames"},
	{"server/gateway", []string{"tool", "files/approval", "record", "server/gateway/wire"}, "front ends do not import each other; whose page asks is looked at in one place"},
	{"server/mcpserver", []string{"tool", "files/approval"}, "the tools over MCP; which page asks is looked at in one place"},
	{"server/guard", []string{"files/approval", "files/freshness", "files/policy", "files/snapshot", "files/workspace", "llm", "record", "tool", "trim/dialect"}, "agents' own tools: rules, snapshots and the trail; how each agent's hooks speak is handed in"},
	{"server/acp", []string{"agent", "files/approval", "tool", "llm", "session", "agent/mcpclient"}, "the agent over ACP; what it says, its calls and what is stored are told in the protocol's words, and unsaved text as a diff; a session names MCP servers"},
	{"server/web", []string{"files/approval", "session", "record", "llm"}, "the embedded UI; the messages of a session are llm's, and whose page asks is looked at in one place"},

	{"store", []string{"session", "record", "store/*"}, "opens the records wherever they are kept; the one that knows all drivers"},
	{"store/rows", []string{"session", "record"}, "records and sessions in any database: no driver"},
	{"store/*", []string{"session", "record", "store/rows"}, "drivers stay behind the two seams"},

	{"cmd/stet/internal/config", []string{"llm", "llm/apis", "trim/dialect", "trim", "files/policy", "cmd/stet/internal/notify"}, "one table of all settings; their values are of these packages' types, and each API has one"},
	{"cmd/stet/internal/agents", []string{"server/guard", "files/policy", "server/proxy", "llm", "llm/llmtest"}, "agents' configuration files are edited as JSON with comments; the proxy says which form of a base URL it takes; a scripted model answers an agent whose requests are compared"},
	{"cmd/stet/internal/notify", []string{"files/approval"}, "tells a person outside about questions: looks on at a queue, over HTTP and by a program"},
	{"cmd/stet/internal/socket", []string{"files/approval", "files/workspace", "server/web"}, "where servers and those who answer find each other on this machine; they speak the page's API, and name workspaces"},
	{"cmd/stet/internal/tokenfile", []string{"server/gateway", "cmd/stet/internal/config"}, "the gateway's tokens, kept in a file"},
	{"cmd/stet/internal/terminal", []string{"agent", "files/approval", "session", "llm", "tool"}, "chat and dialogs on a terminal; what is said is llm's, and the errors of calls are tool's; what is not seen is an escape"},
	{"cmd/stet/internal/report", []string{"*", "cmd/stet/internal/agents"}, "turns everyone's figures into text, also commands as a shell reads them; does no input or output of its own"},
	{"cmd/stet/internal/proxyserver", []string{"server/proxy", "server/connect", "llm", "llm/prices", "record", "store", "cmd/stet/internal/config", "cmd/stet/internal/process", "cmd/stet/internal/report", "cmd/stet/internal/tokenfile"}, "the proxy with its listener, store and log, also as a process that is started again; the forward proxy with its hosts and its authority's file"},
	{"cmd/stet/internal/toolset", []string{"*", "cmd/stet/internal/config", "cmd/stet/internal/notify", "cmd/stet/internal/socket"}, "the file tools with all that watches over them, for every front end that gives them out"},
	{"cmd/stet/internal/localagent", []string{"*", "cmd/stet/internal/config", "cmd/stet/internal/demo", "cmd/stet/internal/report", "cmd/stet/internal/toolset"}, "stet's own agent, put together for chat, run, editors and the page"},
	{"cmd/stet/internal/site", []string{"*", "cmd/stet/internal/config", "cmd/stet/internal/notify", "cmd/stet/internal/proxyserver", "cmd/stet/internal/report", "cmd/stet/internal/socket", "cmd/stet/internal/tokenfile", "cmd/stet/internal/toolset"}, "everything that stet serve has on one port; logins with accounts elsewhere: the one that knows OpenID Connect"},
	{"cmd/stet/internal/demo", []string{"*", "cmd/stet/internal/report"}, "shows the parts at work, with scripted models"},
	{"cmd/stet/internal/*", nil, "mechanisms of the command alone"},
	{"cmd/stet", []string{"*", "cmd/stet/internal/*"}, "wiring only, and so everything"},

	{"test/npm", nil, "installs what tests and the benchmark run from npm; support for several of them, and no test itself"},
	{"test/postgrestest", []string{"test/freeport"}, "a database for tests, at a port of its own"},
	{"test/modeltest", []string{"*", "test/strictmodel"}, "clients are asked by a model that refuses what the providers refuse"},
	{"test/*", []string{"*"}, "the product as its users run it, and suites that every implementation of a seam passes"},
}

// levelOf returns the number of a package's group, from the ground up; -1 if it is in none.
func levelOf(path string) int {
	return slices.IndexFunc(groups, func(g group) bool { return path == g.path || strings.HasPrefix(path, g.path+"/") })
}

// forbiddenNames are package names that do not describe their content.
var forbiddenNames = []string{
	"util", "utils", "common", "types", "helper", "helpers", "manager",
	"service", "core", "base", "misc", "shared", "lib",
}

// Limits in lines. Test functions are often tables, and have no limit.
const (
	maxFile = 800
	maxFunc = 100
)

// diskPackages may touch the file system. All other packages get bytes, or use workspace, so that paths are checked in one place.
var diskPackages = []string{"files/workspace", "files/snapshot", "internal/atomicfile", "store/*", "trim/transcript", "cmd/*"}

// diskCalls are the functions that touch the file system, by package.
var diskCalls = map[string][]string{
	"os": {
		"Open", "OpenFile", "Create", "CreateTemp", "ReadFile", "WriteFile", "ReadDir", "Stat", "Lstat",
		"Remove", "RemoveAll", "Rename", "Mkdir", "MkdirAll", "MkdirTemp", "Chmod", "Chown", "Lchown",
		"Chtimes", "Truncate", "Symlink", "Link", "Readlink", "DirFS", "CopyFS", "OpenRoot", "OpenInRoot",
	},
	"path/filepath": {"Walk", "WalkDir", "Glob", "EvalSymlinks"},
	"io/ioutil":     {"*"},
}

// namingPackages may name providers and agents. In other packages such a name is a special case that belongs into dialect or a
// codec. llm describes how providers differ, archtest has the list, and policy has the names of files that agents read as
// instructions.
var namingPackages = []string{
	"llm", "llm/*", "trim/dialect", "trim/transcript", "server/proxy", "server/proxy/*", "files/policy", "cmd/*", "test/*", "internal/archtest",
}

// Names of providers and agents. They are found anywhere in an identifier, a string or a comment. The short names count only as
// whole words.
var (
	longNames  = []string{"anthropic", "claude", "openai", "chatgpt", "codex", "opencode", "qwen", "gemini", "openhands", "copilot"}
	shortNames = []string{"gpt", "cline"}
)

// lightGroup is the highest group that must not import heavyModules: users of the library would get them.
const lightGroup = "session"

// httpPackages are the packages up to lightGroup that may import net/http: clients and servers. A program that imports other
// packages stays small.
var httpPackages = []string{
	"llm/endpoint", "llm/llmtest", "agent/mcpclient", "internal/httpguard",
}

// heavyModules must not be imported by the groups up to lightGroup.
var heavyModules = []string{
	"github.com/nats-io/", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters",
	"modernc.org/sqlite", "github.com/jackc/pgx",
	"charm.land/", "github.com/charmbracelet/",
	"github.com/coreos/go-oidc", "github.com/zitadel/",
}
