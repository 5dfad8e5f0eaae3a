// Package archtest checks the structure of the module. It has the table of allowed imports, with the reason for each row, and the
// rules for every file. Its test checks the whole module.
//
// If the design changes, change the table, with the reason. Do not work around it.
package archtest

// module is the prefix of this module's import paths.
const module = "github.com/stet-dev/stet"

// row is the table's entry for one package, or for all packages below a path that ends in "/*".
type row struct {
	path   string
	level  int
	may    []string // packages of this module that it may import; "*": every package below its level
	reason string
}

// table is the import table. Imports only go down. A row must name each imported package of its own level.
var table = []row{
	{"tool", 0, []string{"internal/diff"}, "the words of a tool call, which everything may use; what a call would change is a diff"},
	{"server/gateway/wire", 0, []string{"internal/limits", "internal/rawjson"}, "frames on a wire are a format, read by both ends; what they carry is found and not decoded"},
	{"internal/merge3", 0, []string{"internal/diff"}, "a three-way merge is two diffs"},
	{"internal/rpclines", 0, []string{"internal/invisible", "internal/limits", "internal/rawjson"}, "messages, one a line: what a client chooses in them is found and measured, and not decoded"},
	{"internal/literal", 0, nil, "what a regular expression says of its matches"},
	{"internal/archtest", 0, nil, "looks at source text, runs nothing of it"},
	{"cmd/stet/internal/agents", 5, []string{"internal/jsonc", "internal/invisible", "server/proxy"}, "agents' configuration files are edited as JSON with comments; the proxy says which form of a base URL it takes"},
	{"cmd/stet/internal/socket", 3, []string{"files/approval"}, "where servers and those who answer find each other on this machine; approval itself touches no disk"},
	{"cmd/stet/internal/tokenfile", 5, []string{"server/gateway", "cmd/stet/internal/config", "internal/limits"}, "the gateway's tokens, kept in a file"},
	{"cmd/stet/internal/signin", 5, []string{"server/gateway", "server/web", "internal/limits"}, "logins with accounts elsewhere: who a person is to the page, in the gateway's roles; the one that knows OpenID Connect"},
	{"cmd/stet/internal/report", 5, []string{"agent", "trim", "llm", "llm/*", "llm/prices", "server/proxy", "record", "trim/replay", "trim/replay/bench", "session", "llm/tokens", "llm/tokens/exact", "trim/transcript", "files/workspace"}, "turns everyone's figures into text; does no input or output of its own"},
	{"cmd/stet/internal/proxyserver", 5, []string{"server/proxy", "llm/prices", "record", "store", "cmd/stet/internal/config", "cmd/stet/internal/report"}, "the proxy with its listener, store and log"},
	{"cmd/stet/internal/toolset", 5, []string{"*", "server/mcpserver", "cmd/stet/internal/config"}, "the file tools with all that watches over them, for every front end that gives them out"},
	{"cmd/stet/internal/localagent", 5, []string{"*", "cmd/stet/internal/config", "cmd/stet/internal/demo", "cmd/stet/internal/report", "cmd/stet/internal/toolset"}, "stet's own agent, put together for chat, run, editors and the page"},
	{"cmd/stet/internal/site", 5, []string{"*", "server/gateway", "server/mcpserver", "server/web", "cmd/stet/internal/config", "cmd/stet/internal/proxyserver", "cmd/stet/internal/signin", "cmd/stet/internal/tokenfile", "cmd/stet/internal/toolset"}, "everything that stet serve has on one port"},
	{"cmd/stet/internal/demo", 5, []string{"*", "cmd/stet/internal/report", "server/proxy"}, "shows the parts at work, with scripted models"},
	{"cmd/stet/internal/notify", 4, []string{"files/approval", "internal/invisible"}, "tells a person outside about questions: looks on at a queue, over HTTP and by a program"},
	{"cmd/stet/internal/config", 4, []string{"trim/dialect", "trim", "files/policy", "internal/invisible", "cmd/stet/internal/notify"}, "one table of all settings; their values are of these packages' types"},
	{"server/proxy/prefix", 2, []string{"llm", "internal/rawjson"}, "hashes what the providers' caches go by: the words of a request; arguments of calls are JSON"},
	{"server/proxy/cachestate", 3, []string{"llm", "record", "trim", "server/proxy/prefix"}, "what is believed of a provider's cache: no wire and no disk; a verdict names history's cold points"},
	{"server/proxy/sent", 2, []string{"llm", "record", "server/proxy/prefix", "internal/rawjson"}, "how conversations were sent: no wire; a store is handed in"},
	{"trim/kept", 3, []string{"trim"}, "texts that were folded, as files; their names are history's"},
	{"server/proxy/threads", 0, []string{"internal/rawjson"}, "conversations that a provider keeps too, as raw JSON: no API and no codec"},
	{"internal/*", 0, []string{"internal/invisible"}, "mechanisms without a view of the product; what they read may begin with a byte-order mark"},

	{"llm", 1, []string{"tool"}, "a conversation holds tool calls"},
	{"files/policy", 1, []string{"tool", "internal/literal"}, "decides about a call, does no I/O; a path is looked through for a pattern's text before it is matched"},
	{"record", 1, []string{"llm", "internal/limits"}, "what is recorded of calls and requests, with their usage; a seam without drivers"},
	{"record/*", 1, []string{"record"}, "the suite that every store passes"},
	{"files/workspace", 1, []string{"internal/*"}, "the one door to the disk"},

	{"files/freshness", 2, []string{"files/workspace"}, "folds what the workspace observed"},
	{"trim/dialect", 2, nil, "reads calls and results"},
	{"llm/prices", 2, []string{"llm"}, "prices what llm.Usage counts"},
	{"llm/tokens", 2, []string{"llm", "llm/prices"}, "the price data says how a model counts; the vocabularies are large, and apart"},
	{"llm/tokens/exact", 2, []string{"llm/tokens", "llm/prices", "llm/tokens/bpe"}, "the price data names the vocabulary of each model; bpe counts in it"},
	{"llm/llmtest", 2, []string{"llm", "llm/*"}, "a scripted model speaks every wire format"},
	{"llm/endpoint", 2, []string{"llm", "internal/sse", "internal/rawjson"}, "what every client does over HTTP, whatever its wire format"},
	{"test/modeltest", 2, []string{"llm", "llm/endpoint", "llm/llmtest"}, "the suite that every client passes, against the scripted model"},
	{"llm/*", 2, []string{"llm", "llm/endpoint", "internal/sse", "internal/rawjson"}, "a codec turns bodies into the words and patches them; a client asks over llm/endpoint"},
	{"files/approval", 2, []string{"tool", "files/policy", "record", "internal/limits"}, "plan, decide, ask, apply, and write it down"},

	{"files/filetools", 3, []string{"tool", "files/policy", "files/workspace", "files/freshness", "record", "internal/edit", "internal/diff", "internal/merge3", "internal/rawjson", "internal/invisible", "internal/limits", "internal/literal"}, "the tools over the one door; arguments are read from JSON; what is not seen is noted; patterns are those of the policy"},
	{"agent/mcpclient", 3, []string{"tool", "internal/invisible"}, "the tools of others as tools: what filetools are for files; no front end, so that each of them can have it"},
	{"trim", 3, []string{"llm", "llm/tokens", "trim/dialect"}, "plans over words alone: no disk, no wire"},
	{"trim/transcript", 3, []string{"llm", "internal/invisible"}, "recorded sessions become words; what they mean is dialect's"},
	{"session", 3, []string{"llm", "files/freshness", "internal/ctxlock", "internal/invisible", "internal/title"}, "events and their fold; a seam without drivers"},
	{"session/*", 3, []string{"session", "llm", "files/freshness", "files/workspace"}, "the suite that every store passes"},

	{"store", 4, []string{"session", "record", "store/*"}, "opens the records wherever they are kept; the one that knows all drivers"},
	{"store/rows", 4, []string{"session", "record"}, "the columns that the databases share: no driver"},
	{"test/postgrestest", 4, nil, "a PostgreSQL for tests: runs programs, knows no table"},
	{"store/*", 4, []string{"session", "record", "store/rows"}, "drivers stay behind the two seams"},
	{"trim/replay/recording", 3, []string{"llm", "trim/transcript"}, "the parts and requests of a recorded session"},
	{"test/replaytest", 3, []string{"llm", "trim/transcript"}, "recorded sessions for tests"},
	{"trim/replay/check", 3, []string{"llm", "trim/dialect", "trim/replay/recording"}, "what a smaller request lost, told without the engine"},
	{"trim/replay", 4, []string{"llm", "trim", "trim/transcript", "llm/tokens", "llm/prices", "trim/replay/recording", "trim/replay/check", "internal/title"}, "a recording through a policy, priced"},
	{"trim/replay/bench", 4, []string{"trim/replay", "llm", "trim", "trim/transcript", "llm/tokens", "llm/prices", "trim/dialect", "trim/replay/check"}, "policies of others and bounds, compared; `stet bench` alone"},
	{"agent", 4, []string{"llm", "tool", "trim", "session", "llm/tokens", "llm/prices", "files/freshness", "internal/ctxlock", "internal/title"}, "the loop"},

	{"server/proxy", 5, []string{"llm", "llm/*", "trim", "llm/tokens", "llm/prices", "record", "server/proxy/cachestate", "server/proxy/threads", "server/proxy/prefix", "server/proxy/sent", "internal/limits", "internal/sameorigin", "internal/slowbody"}, "no other front end, no driver: cmd hands it a store"},
	{"server/gateway/*", 5, []string{"server/gateway", "server/gateway/wire", "internal/limits"}, "a bus carries frames, and the agent of the tests speaks them"},
	{"server/gateway", 5, []string{"tool", "files/approval", "record", "server/gateway/wire", "internal/sameorigin", "internal/slowbody", "internal/limits"}, "front ends do not import each other; whose page asks is looked at in one place"},
	{"server/mcpserver", 5, []string{"tool", "files/approval", "internal/invisible", "internal/rawjson", "internal/rpclines", "internal/sameorigin", "internal/slowbody", "internal/limits"}, "the tools over MCP; which page asks is looked at in one place"},
	{"server/acp", 5, []string{"agent", "files/approval", "tool", "llm", "session", "agent/mcpclient", "internal/diff", "internal/invisible", "internal/rpclines"}, "the agent over ACP; what it says, its calls and what is stored are told in the protocol's words, and unsaved text as a diff; a session names MCP servers"},
	{"cmd/stet/internal/terminal", 5, []string{"agent", "files/approval", "session", "llm", "internal/invisible", "internal/rawjson"}, "chat and dialogs on a terminal; what is said is llm's; what is not seen is an escape"},
	{"server/web", 5, []string{"tool", "files/approval", "session", "record", "llm", "internal/sameorigin", "internal/slowbody", "internal/limits"}, "the embedded UI; the messages of a session are llm's, and whose page asks is looked at in one place"},
	{"server/web/*", 5, nil, "the page without a browser, for tests: it knows of the server what stands in the protocol alone"},

	{"cmd/*", 6, []string{"*"}, "wiring only, and so everything"},
	{"test/npm", 0, nil, "installs what tests and the benchmark run from npm; support for several of them, and no test itself"},
	{"test/*", 6, []string{"*"}, "the product as its users run it"},
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
var diskPackages = []string{"files/workspace", "internal/atomicfile", "cmd/stet/internal/agents", "cmd/stet/internal/autostart", "cmd/stet/internal/config", "cmd/stet/internal/demo", "trim/kept", "cmd/stet/internal/process", "cmd/stet/internal/site", "cmd/stet/internal/tokenfile", "cmd/stet/internal/toolset", "cmd/stet/internal/socket", "store/*", "trim/transcript", "cmd/stet/internal/terminal", "cmd/*"}

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
	"llm", "llm/*", "trim/dialect", "trim/transcript", "llm/prices", "server/proxy", "cmd/*", "test/*", "internal/archtest",
	"cmd/stet/internal/agents", "cmd/stet/internal/config", "cmd/stet/internal/demo", "cmd/stet/internal/localagent", "cmd/stet/internal/report", "cmd/stet/internal/toolset", "server/proxy/prefix", "files/policy",
}

// Names of providers and agents. They are found anywhere in an identifier, a string or a comment. The short names count only as
// whole words.
var (
	longNames  = []string{"anthropic", "claude", "openai", "chatgpt", "codex", "opencode", "qwen", "gemini", "openhands", "copilot"}
	shortNames = []string{"gpt", "cline"}
)

// lightLevel is the highest level that must not import heavyModules.
const lightLevel = 3

// httpPackages are the packages up to lightLevel that may import net/http: clients and servers. A program that imports other
// packages stays small.
var httpPackages = []string{
	"llm/endpoint", "llm/anthropic", "llm/openai", "llm/llmtest", "test/modeltest", "test/codectest", "agent/mcpclient", "internal/sameorigin", "internal/slowbody",
}

// heavyModules must not be imported by levels 0 to 3, because users of the library would get them.
var heavyModules = []string{
	"github.com/nats-io/", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters",
	"modernc.org/sqlite", "github.com/jackc/pgx",
	"charm.land/", "github.com/charmbracelet/",
	"github.com/coreos/go-oidc", "github.com/zitadel/",
}
