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
	{"gateway/wire", 0, []string{"internal/limits", "internal/rawjson"}, "frames on a wire are a format, read by both ends; what they carry is found and not decoded"},
	{"internal/merge3", 0, []string{"internal/diff"}, "a three-way merge is two diffs"},
	{"internal/rpclines", 0, []string{"internal/invisible", "internal/limits", "internal/rawjson"}, "messages, one a line: what a client chooses in them is found and measured, and not decoded"},
	{"internal/literal", 0, nil, "what a regular expression says of its matches"},
	{"internal/archtest", 0, nil, "looks at source text, runs nothing of it"},
	{"internal/agentconfig", 5, []string{"internal/jsonc", "internal/invisible", "proxy"}, "agents' configuration files are edited as JSON with comments; the proxy says which form of a base URL it takes"},
	{"approval/socket", 3, []string{"approval"}, "where servers and those who answer find each other on this machine; approval itself touches no disk"},
	{"internal/tokenfile", 5, []string{"gateway", "internal/config", "internal/limits"}, "the gateway's tokens, kept in a file"},
	{"internal/signin", 5, []string{"gateway", "web", "internal/limits"}, "logins with accounts elsewhere: who a person is to the page, in the gateway's roles; the one that knows OpenID Connect"},
	{"internal/report", 5, []string{"agent", "history", "llm", "llm/*", "prices", "proxy", "record", "replay", "replay/bench", "session", "tokens", "tokens/exact", "transcript", "workspace"}, "turns everyone's figures into text; does no input or output of its own"},
	{"internal/proxyserver", 5, []string{"proxy", "prices", "record", "store", "internal/config", "internal/report"}, "the proxy with its listener, store and log"},
	{"internal/toolset", 5, []string{"*", "mcpserver", "internal/config"}, "the file tools with all that watches over them, for every front end that gives them out"},
	{"internal/localagent", 5, []string{"*", "internal/config", "internal/demo", "internal/report", "internal/toolset"}, "stet's own agent, put together for chat, run, editors and the page"},
	{"internal/site", 5, []string{"*", "gateway", "mcpserver", "web", "internal/config", "internal/proxyserver", "internal/signin", "internal/tokenfile", "internal/toolset"}, "everything that stet serve has on one port"},
	{"internal/demo", 5, []string{"*", "internal/report", "proxy"}, "shows the parts at work, with scripted models"},
	{"internal/notify", 4, []string{"approval", "internal/invisible"}, "tells a person outside about questions: looks on at a queue, over HTTP and by a program"},
	{"internal/config", 4, []string{"dialect", "history", "policy", "internal/invisible", "internal/notify"}, "one table of all settings; their values are of these packages' types"},
	{"internal/prefix", 2, []string{"llm", "internal/rawjson"}, "hashes what the providers' caches go by: the words of a request; arguments of calls are JSON"},
	{"internal/cachestate", 3, []string{"llm", "record", "history", "internal/prefix"}, "what is believed of a provider's cache: no wire and no disk; a verdict names history's cold points"},
	{"internal/sentform", 2, []string{"llm", "record", "internal/prefix", "internal/rawjson"}, "how conversations were sent: no wire; a store is handed in"},
	{"internal/foldstore", 3, []string{"history"}, "texts that were folded, as files; their names are history's"},
	{"internal/continuation", 0, []string{"internal/rawjson"}, "conversations that a provider keeps too, as raw JSON: no API and no codec"},
	{"internal/*", 0, []string{"internal/invisible"}, "mechanisms without a view of the product; what they read may begin with a byte-order mark"},

	{"llm", 1, []string{"tool"}, "a conversation holds tool calls"},
	{"policy", 1, []string{"tool", "internal/literal"}, "decides about a call, does no I/O; a path is looked through for a pattern's text before it is matched"},
	{"record", 1, []string{"llm", "internal/limits"}, "what is recorded of calls and requests, with their usage; a seam without drivers"},
	{"record/*", 1, []string{"record"}, "the suite that every store passes"},
	{"workspace", 1, []string{"internal/*"}, "the one door to the disk"},

	{"freshness", 2, []string{"workspace"}, "folds what the workspace observed"},
	{"dialect", 2, nil, "reads calls and results"},
	{"prices", 2, []string{"llm"}, "prices what llm.Usage counts"},
	{"tokens", 2, []string{"llm", "prices"}, "the price data says how a model counts; the vocabularies are large, and apart"},
	{"tokens/exact", 2, []string{"tokens", "prices", "internal/bpe"}, "the price data names the vocabulary of each model; bpe counts in it"},
	{"llm/llmtest", 2, []string{"llm", "llm/*"}, "a scripted model speaks every wire format"},
	{"llm/endpoint", 2, []string{"llm", "internal/sse", "internal/rawjson"}, "what every client does over HTTP, whatever its wire format"},
	{"llm/modeltest", 2, []string{"llm", "llm/endpoint", "llm/llmtest"}, "the suite that every client passes, against the scripted model"},
	{"llm/*", 2, []string{"llm", "llm/endpoint", "internal/sse", "internal/rawjson"}, "a codec turns bodies into the words and patches them; a client asks over llm/endpoint"},
	{"approval", 2, []string{"tool", "policy", "record", "internal/limits"}, "plan, decide, ask, apply, and write it down"},

	{"filetools", 3, []string{"tool", "policy", "workspace", "freshness", "record", "internal/edit", "internal/diff", "internal/merge3", "internal/rawjson", "internal/invisible", "internal/limits", "internal/literal"}, "the tools over the one door; arguments are read from JSON; what is not seen is noted; patterns are those of the policy"},
	{"mcpclient", 3, []string{"tool", "internal/invisible"}, "the tools of others as tools: what filetools are for files; no front end, so that each of them can have it"},
	{"history", 3, []string{"llm", "tokens", "dialect"}, "plans over words alone: no disk, no wire"},
	{"transcript", 3, []string{"llm", "internal/invisible"}, "recorded sessions become words; what they mean is dialect's"},
	{"session", 3, []string{"llm", "freshness", "internal/ctxlock", "internal/title"}, "events and their fold; a seam without drivers"},
	{"session/*", 3, []string{"session", "llm", "freshness", "workspace"}, "the suite that every store passes"},

	{"store", 4, []string{"session", "record", "store/*"}, "opens the records wherever they are kept; the one that knows all drivers"},
	{"store/rows", 4, []string{"session", "record"}, "the columns that the databases share: no driver"},
	{"store/postgrestest", 4, nil, "a PostgreSQL for tests: runs programs, knows no table"},
	{"store/*", 4, []string{"session", "record", "store/rows"}, "drivers stay behind the two seams"},
	{"replay/recording", 3, []string{"llm", "transcript"}, "the parts and requests of a recorded session"},
	{"replay/replaytest", 3, []string{"llm", "transcript"}, "recorded sessions for tests"},
	{"replay/check", 3, []string{"llm", "dialect", "replay/recording"}, "what a smaller request lost, told without the engine"},
	{"replay", 4, []string{"llm", "history", "transcript", "tokens", "prices", "replay/recording", "replay/check", "internal/title"}, "a recording through a policy, priced"},
	{"replay/bench", 4, []string{"replay", "llm", "history", "transcript", "tokens", "prices", "dialect", "replay/check"}, "policies of others and bounds, compared; `stet bench` alone"},
	{"agent", 4, []string{"llm", "tool", "history", "session", "tokens", "prices", "freshness", "internal/ctxlock", "internal/title"}, "the loop"},

	{"proxy", 5, []string{"llm", "llm/*", "history", "tokens", "prices", "record", "internal/cachestate", "internal/continuation", "internal/prefix", "internal/sentform", "internal/limits", "internal/sameorigin", "internal/slowbody"}, "no other front end, no driver: cmd hands it a store"},
	{"gateway/*", 5, []string{"gateway", "gateway/wire", "internal/limits"}, "a bus carries frames, and the agent of the tests speaks them"},
	{"gateway", 5, []string{"tool", "approval", "record", "gateway/wire", "internal/sameorigin", "internal/slowbody", "internal/limits"}, "front ends do not import each other; whose page asks is looked at in one place"},
	{"mcpserver", 5, []string{"tool", "approval", "internal/invisible", "internal/rawjson", "internal/rpclines", "internal/sameorigin", "internal/slowbody", "internal/limits"}, "the tools over MCP; which page asks is looked at in one place"},
	{"acp", 5, []string{"agent", "approval", "tool", "llm", "session", "mcpclient", "internal/diff", "internal/invisible", "internal/rpclines"}, "the agent over ACP; what it says, its calls and what is stored are told in the protocol's words, and unsaved text as a diff; a session names MCP servers"},
	{"tui", 5, []string{"agent", "approval", "session", "llm", "internal/invisible", "internal/rawjson"}, "chat and dialogs on a terminal; what is said is llm's; what is not seen is an escape"},
	{"web", 5, []string{"tool", "approval", "session", "record", "llm", "internal/sameorigin", "internal/slowbody", "internal/limits"}, "the embedded UI; the messages of a session are llm's, and whose page asks is looked at in one place"},
	{"web/*", 5, nil, "the page without a browser, for tests: it knows of the server what stands in the protocol alone"},

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
var diskPackages = []string{"workspace", "internal/atomicfile", "internal/agentconfig", "internal/autostart", "internal/config", "internal/demo", "internal/foldstore", "internal/process", "internal/site", "internal/tokenfile", "internal/toolset", "approval/socket", "store/*", "transcript", "tui", "cmd/*"}

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
	"llm", "llm/*", "dialect", "transcript", "prices", "proxy", "cmd/*", "test/*", "internal/archtest",
	"internal/agentconfig", "internal/config", "internal/demo", "internal/localagent", "internal/report", "internal/toolset", "internal/prefix", "policy",
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
	"llm/endpoint", "llm/anthropic", "llm/openai", "llm/llmtest", "llm/modeltest", "llm/codectest", "mcpclient", "internal/sameorigin", "internal/slowbody",
}

// heavyModules must not be imported by levels 0 to 3, because users of the library would get them.
var heavyModules = []string{
	"github.com/nats-io/", "go.opentelemetry.io/otel/sdk", "go.opentelemetry.io/otel/exporters",
	"modernc.org/sqlite", "github.com/jackc/pgx",
	"charm.land/", "github.com/charmbracelet/",
	"github.com/coreos/go-oidc", "github.com/zitadel/",
}
