package config

import (
	"cmp"
	"encoding"
	"fmt"
	"slices"
	"strings"

	"github.com/stet-dev/stet/cmd/stet/internal/notify"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/llm/apis"
	"github.com/stet-dev/stet/trim"
	"github.com/stet-dev/stet/trim/dialect"
)

// key is a row of the table of keys.
type key struct {
	Name        string
	Type        Type
	Default     any      // of the Type; nil for tables
	DefaultText string   // the meaning of an empty default
	Values      []string // allowed values; nil: see Help
	Least, Most int      // of a number; Most 0: no limit
	Zero        bool     // a number may also be 0
	UserOnly    bool     // a project's file may not set it
	Help        string   // of the flag
	Doc         string   // of the page; "" is Help

	field func(*Config) any // returns a pointer to the field for the value
	valid func(any) error   // nil: every value of the type is allowed
}

// Type is the type of a key's value, as an error names it.
type Type string

// The types.
const (
	text   Type = "a string"
	Number Type = "a whole number"
	Bool   Type = "true or false"
	tables Type = "an array of tables" // in files only
	table  Type = "a table"            // in files only
)

// elicitOrdinary is the value of the key elicitation under which an answer through the client counts. It comes from the client, and
// only maybe from a person.
const elicitOrdinary = "ordinary"

const (
	ruleKey   = "rule"
	notifyKey = "notify"
	limitsKey = "limits"
	mcpKey    = "mcp"
)

// RefuseThreads is the value of the key threads that is not its default.
const RefuseThreads = "refuse"

// Values of the key via.
const (
	viaAuto    = "auto"
	ViaBaseURL = "base-url"
	ViaConnect = "connect"
)

// keys is the table. The order is that of the page.
var keys = slices.Concat([]key{
	{
		Name: "policy", Type: text, Default: string(trim.Adaptive), Values: policyNames(),
		Help:  "what may be left out: off, keep-latest, lossless, adaptive, bold, finish (\"stet help wrap\" explains them)",
		Doc:   "what may be left out; with `finish` nothing new, and what was shortened before stays shortened",
		field: func(c *Config) any { return &c.Policy },
	},
	{
		Name: "keep", Type: Number, Default: 5, Help: "under keep-latest: how many of the newest reads of each file stay whole; 0 is all",
		Doc:   "under `keep-latest`: how many of the newest reads of each file stay whole; 0 is all",
		field: func(c *Config) any { return &c.Keep },
	},
	{
		Name: "keep-shell", Type: Number, Default: 5,
		Doc:   "how many of the newest outputs of commands stay whole under `keep-latest`, and under `adaptive` and `bold` where what was sent is left out; 0 is all",
		field: func(c *Config) any { return &c.KeepShell },
	},
	{
		Name: "by-size", Type: Bool, Default: false,
		Doc:   "`keep-latest` keeps fewer reads of large files: 3 from 64 KB, 1 from 256 KB",
		field: func(c *Config) any { return &c.BySize },
	},
	{
		Name: "by-content", Type: Bool, Default: false,
		Doc:   "also recognise a read by its result, if its call is not in the request or names no file",
		field: func(c *Config) any { return &c.ByContent },
	},
	{
		Name: "line-numbers", Type: text, Default: "auto", Values: []string{"auto", string(trim.AllNumbers), string(trim.SparseNumbers)},
		Help: "which lines of reads keep their line numbers: all, sparse (every tenth line), or auto (sparse under bold)",
		Doc: "which lines of reads keep their line numbers: `all`, `sparse` (every tenth line, for agents whose edits name text), or `auto`: " +
			"`sparse` under `bold`, and else `all`",
		field: func(c *Config) any { return &c.LineNumbers },
	},
	{
		Name: "lang", Type: text, Default: "en", Values: []string{"en", "zh"},
		Help:  "language of the placeholder, the line instead of what was left out: en or zh",
		field: func(c *Config) any { return &c.Lang },
	},
	{
		Name: "placeholder", Type: text, Default: "",
		Help:  "your own text of the placeholder under keep-latest; {path} and {lines} are filled in (default a sentence in --lang)",
		Doc:   "the line instead of what was left out under `keep-latest`, in your own words; `{path}` and `{lines}` are filled in",
		field: func(c *Config) any { return &c.Placeholder }, valid: checkPlaceholder,
	},
	{
		Name: "project-root", Type: text, Default: "", UserOnly: true,
		Help: "the directory that agents work in: paths below it and relative paths name the same files (default what their requests say)",
		Doc: "the directory that agents work in: absolute paths below it and relative paths are then the same; by default the working " +
			"directory of `wrap`, else what an agent's own prompt says",
		field: func(c *Config) any { return &c.ProjectRoot }, valid: checkProjectRoot,
	},
	{
		Name: "via", Type: text, Default: viaAuto, Values: []string{viaAuto, ViaBaseURL, ViaConnect}, UserOnly: true,
		Help: "how agents reach the proxy: base-url, connect (a forward proxy for HTTPS), or auto",
		Doc: "how agents reach the proxy: by a base URL, or by `connect`, a forward proxy for HTTPS ([wrap.md](wrap.md#the-forward-proxy)); with `auto`, `wrap` and `setup` " +
			"take `connect` for agents that lose something at a base URL",
		field: func(c *Config) any { return &c.Via },
	},
	{
		Name: "observe", Type: Bool, Default: false,
		Help:  "send every request unchanged, and only report what would be left out",
		field: func(c *Config) any { return &c.Observe },
	},
	{
		Name: "threads", Type: text, Default: "follow", Values: []string{"follow", RefuseThreads},
		Help:  "follow or refuse message threads, in which the provider keeps the conversation; refuse makes the agent send all of it",
		Doc:   "message threads, where the provider keeps the conversation and requests have only what is new: `follow` them, or `refuse` them as a server without threads does",
		field: func(c *Config) any { return &c.Threads },
	},
	{
		Name: "clear", Type: Bool, Default: true,
		Help: "do not ask the provider to clear old tool results itself (adaptive and bold ask, if it checks the text in front of thinking)",
		Doc: "under `adaptive` and `bold`, where the provider checks the text before thinking: from a cold point on, requests ask it to clear the results of the " +
			"oldest calls of tools itself (`clear_tool_uses_20250919`)",
		field: func(c *Config) any { return &c.Clear },
	},
	{
		Name: "record", Type: Bool, Default: true, UserOnly: true,
		Help:  "keep no record of usage and savings in the state directory",
		Doc:   "keep a record of requests in `$XDG_STATE_HOME/stet/stet.db`: sizes, counts, names of files and tools; no content, no keys",
		field: func(c *Config) any { return &c.Record },
	},
	{
		Name: "record-days", Type: Number, Default: 180, UserOnly: true,
		Help:  "how many days the record is kept; 0 is for ever",
		Doc:   "how many days that record is kept; 0 is for ever",
		field: func(c *Config) any { return &c.RecordDays },
	},
	{
		Name: "holdout", Type: Number, Default: 0, DefaultText: "0: none", UserOnly: true,
		Doc: "one of so many conversations (2 to 100) goes to the model as it came, with its sub-agents and forks, for life, so that `stet savings --live` can " +
			"say whether stet changes how your agents work; 0 is none. Only conversations that their agent names take part",
		field: func(c *Config) any { return &c.Holdout }, Least: 2, Most: 100, Zero: true,
	},
	{
		Name: limitsKey, Type: table, DefaultText: "none", UserOnly: true,
		Doc: "what may be spent: `conversation` (by one, and by each sub-agent for itself), `tree` (by a conversation with its sub-agents) and `day` (by all), in dollars " +
			"(`\"$5\"`) or tokens (`\"2000000 tokens\"`). A note comes at 80 %; at 100 % the next turn of a person is refused, and with `hard = true` also the next request in a " +
			"loop of tools; in your file only ([proxy.md](proxy.md#limits-of-what-is-spent))",
		field: func(c *Config) any { return &c.Limits },
	},
	{
		Name: "store", Type: text, Default: "", DefaultText: "the file `stet.db` in the state directory", UserOnly: true,
		Help:  "PostgreSQL database for records, sessions and audit trail: postgres://… (default the file stet.db in the state directory)",
		Doc:   "a PostgreSQL database, `postgres://USER@HOST/NAME`, that has the record, the sessions and the audit trail instead of the file",
		field: func(c *Config) any { return &c.Store }, valid: checkStore,
	},
	{
		Name: "proxy-memory", Type: Number, Default: 150, UserOnly: true,
		Help:  "megabytes of memory that the proxy works with, 64 or more",
		Doc:   "how many megabytes of memory the proxy works with, 64 or more; with more it knows more conversations at once, and is faster with many large ones",
		field: func(c *Config) any { return &c.ProxyMemory }, Least: 64,
	},
	{
		Name: "audit-days", Type: Number, Default: 180, UserOnly: true,
		Doc:   "how many days entries of the audit trail are kept: 31 or more, or 0 for ever",
		field: func(c *Config) any { return &c.AuditDays }, Least: 31, Zero: true, // undo and the outcomes of repeated calls need the entries for so long
	},
	{
		Name: "ask-wait", Type: Number, Default: 600, UserOnly: true,
		Doc:   "how many seconds a call of an agent's own tool waits for a person where the agent cannot ask, before it is denied; after a change run `stet guard AGENT` again",
		field: func(c *Config) any { return &c.AskWait }, Least: 1, Most: 3600,
	},
	{
		Name: "ask-pause", Type: Number, Default: 30, UserOnly: true,
		Doc:   "how many seconds an agent whose dialog comes after its hooks (Codex, Copilot CLI, and Qwen Code, at most 50 s) lets stet ask first; after a change run `stet guard AGENT` again",
		field: func(c *Config) any { return &c.AskPause }, Least: 1, Most: 3600,
	},
	{
		Name: "listen", Type: text, Default: "127.0.0.1:4141", UserOnly: true,
		Help:  "address to listen on, HOST:PORT; port 0 takes a free port",
		Doc:   "address that `stet proxy` and `stet serve` listen on, `HOST:PORT`; port 0 takes a free port",
		field: func(c *Config) any { return &c.Listen },
	},
	{
		Name: "log", Type: text, Default: "", UserOnly: true, Help: "write the log to this file (default: errors alone, to standard error)",
		field: func(c *Config) any { return &c.Log },
	},
	{
		Name: "upstream", Type: text, Default: "", UserOnly: true,
		Help:  "base URL that all requests go to, instead of the providers' own",
		field: func(c *Config) any { return &c.upstream }, valid: checkUpstream,
	},
}, upstreamKeys(), []key{
	{
		Name: "dialect", Type: tables, DefaultText: "those that stet knows",
		Doc:   "a tool of your agent that stet does not know; in files only",
		field: func(c *Config) any { return &c.Dialects },
	},
	{
		Name: ruleKey, Type: tables, DefaultText: "none",
		Doc:   "what file tools may do; in files only. A project's rules deny or ask, and allow nothing",
		field: func(c *Config) any { return &c.Rules },
	},
	{
		Name: mcpKey, Type: tables, DefaultText: "none", UserOnly: true,
		Doc: "an MCP server whose tools `stet chat` and `stet run` give the model in addition to the file tools: `name`, and `command` (a program and its " +
			"arguments) with `env`, or `url` with `headers`; in your file only",
		field: func(c *Config) any { return &c.MCP },
	},
	{
		Name: "elicitation", Type: text, Default: "none", Values: []string{"none", elicitOrdinary}, UserOnly: true,
		Doc:   "who may decide besides `stet approve`: no one, or (`ordinary`) the MCP client's user, for ordinary files",
		field: func(c *Config) any { return &c.Elicitation },
	},
	{
		Name: notifyKey, Type: table, DefaultText: "none", UserOnly: true,
		Doc: "who gets a message that a question waits, and how it ended: `ntfy` (the URL of a topic), `webhook` (a URL that gets JSON), `command` (a program " +
			"and its arguments; the text is the last one); `link` is the address of the page, where a message then opens its question; `content = true` also says what would be written; `actions = true` gives the messages of `ntfy` buttons that decide at once. The button on the page that notifies a browser needs no key; in your file only",
		field: func(c *Config) any { return &c.Notify },
	},
	{
		Name: "unread", Type: text, Default: "ask", Values: []string{"ask", "allow", "deny"}, UserOnly: true,
		Doc: "overwriting a file that the session never read, read only in part, or that changed since: `ask`, `deny`, or " +
			"`allow`, which leaves it to the rules",
		field: func(c *Config) any { return &c.Unread },
	},
	{
		Name: "relative-paths", Type: Bool, Default: false, UserOnly: true,
		Doc:   "the file tools but `Read` refuse absolute paths, as at the gateway; otherwise they take one that leads into the workspace",
		field: func(c *Config) any { return &c.Relative },
	},
	{
		Name: "secrets", Type: text, Default: "ask", Values: []string{"ask", "allow", "deny"}, UserOnly: true,
		Doc: "showing an agent what is in a file that may hold keys or passwords (`.env`, private keys, credentials): `ask`, `deny`, or " +
			"`allow`, which leaves it to the rules; searches leave such files out but under `allow`",
		field: func(c *Config) any { return &c.Secrets },
	},
	{
		Name: "suspicion", Type: text, Default: "flag", Values: []string{"flag", "suspend", "roll back"}, UserOnly: true,
		Doc:   "what happens when a session keeps trying to leave the workspace: `flag`, `suspend` (see `stet resume`), `roll back`",
		field: func(c *Config) any { return &c.Suspicion },
	},
	{
		Name: "rate", Type: Number, Default: 100, UserOnly: true, Help: "how many calls a session may make in any 60 seconds, and a token ten times that; 0 is no limit",
		field: func(c *Config) any { return &c.Rate },
	},
	{
		Name: "read-limit", Type: Number, Default: 10, UserOnly: true,
		Doc:   "how many megabytes a file may have that a tool reads whole, 1 to 1024; a read of some lines has no limit. The gateway gives callers without parts 10 at most",
		field: func(c *Config) any { return &c.ReadLimit }, Least: 1, Most: 1024,
	},
	{
		Name: "write-limit", Type: Number, Default: 5, UserOnly: true,
		Doc:   "how many megabytes a write may have, 1 to 1024",
		field: func(c *Config) any { return &c.WriteLimit }, Least: 1, Most: 1024,
	},
	{
		Name: "parts-limit", Type: Number, Default: 100, UserOnly: true,
		Doc:   "how many megabytes a content may have that comes or goes in parts over the gateway, 1 to 1024",
		field: func(c *Config) any { return &c.PartsLimit }, Least: 1, Most: 1024,
	},
	{
		Name: "kept-megabytes", Type: Number, Default: 512, UserOnly: true,
		Doc:   "how many megabytes of replaced versions of files are kept, which undo needs, 1 or more; backups may have as many",
		field: func(c *Config) any { return &c.KeptMegabytes }, Least: 1, Most: 1 << 20,
	},
	{
		Name: "kept-days", Type: Number, Default: 30, UserOnly: true,
		Doc:   "how many days these versions are kept, 1 or more, and less than `audit-days`",
		field: func(c *Config) any { return &c.KeptDays }, Least: 1, Most: 36_500,
	},
	{
		Name: "dedupe", Type: Bool, Default: false, UserOnly: true,
		Help:  "answer a repeated read of unchanged lines with one line; with --http, for clients that keep a session",
		Doc:   "`stet mcp` answers a repeated read of unchanged lines with one line",
		field: func(c *Config) any { return &c.Dedupe },
	},
	{
		Name: "prices", Type: text, Default: "", DefaultText: "those that stet knows", UserOnly: true,
		Doc:   "a JSON file with more models, or other prices for known ones, in the form of `llm/prices/models.json`",
		field: func(c *Config) any { return &c.Prices },
	},
	{
		Name: "model", Type: text, Default: "", UserOnly: true,
		Help:  "the model's name; \"scripted\" is a built-in script that needs no key",
		Doc:   "the model of stet's own agent; `scripted` is a built-in script that needs no key",
		field: func(c *Config) any { return &c.Model },
	},
	{
		Name: "base-url", Type: text, Default: "", UserOnly: true,
		Help:  "base URL of the model's endpoint (default that of the model's provider)",
		field: func(c *Config) any { return &c.BaseURL }, valid: checkUpstream,
	},
	{
		Name: "api", Type: text, Default: "", DefaultText: "by the model's name", UserOnly: true,
		Values: clientAPIs(),
		Help:   "API of the model's endpoint: " + strings.Join(clientAPIs(), ", ") + " (default by the model's name)",
		Doc:    "the API of the model's endpoint",
		field:  func(c *Config) any { return &c.API },
	},
	{
		Name: "compact", Type: Number, Default: 92, UserOnly: true,
		Doc:   "at how many percent of the model's window stet's own agent asks for a summary: 10 to 99, or 0 for never by itself; space for an answer is kept in any case",
		field: func(c *Config) any { return &c.Compact }, Least: 10, Most: 99, Zero: true,
	},
	{
		Name: "project-notes", Type: Bool, Default: true,
		Help:  "give the agent the text of AGENTS.md in the directory, or of CLAUDE.md if there is none",
		Doc:   "give stet's own agent the text of the project's `AGENTS.md` or `CLAUDE.md`",
		field: func(c *Config) any { return &c.ProjectNotes },
	},
})

// upstreamKeys returns the rows of the base URLs: one for each API, and one for each cloud.
func upstreamKeys() (rows []key) {
	add := func(name, usual, help, doc string) {
		rows = append(rows, key{
			Name: "upstream-" + name, Type: text, Default: "", DefaultText: usual, UserOnly: true, Help: help, Doc: doc,
			field: func(c *Config) any { return upstreamField{c, name} }, valid: checkUpstream,
		})
	}
	for _, a := range apis.All() {
		path := cmp.Or(a.Serves, a.Path)
		add(a.Name, a.Upstream, "base URL for "+path+" (default "+a.Upstream+")", "base URL for `"+path+"`")
	}
	add(llm.Vertex, "Google's for the location", "base URL for Vertex AI, /v1/projects (default Google's server for the location in the path)",
		"base URL for Vertex AI (`/v1/projects/…`)")
	add(llm.Azure, "none", "base URL of an Azure resource, for /openai and /anthropic (default none: these requests get a 404)",
		"base URL of an Azure resource, for Azure OpenAI (`/openai/…`) and Foundry (`/anthropic/…`)")
	add(llm.Bedrock, "none", "base URL for Amazon Bedrock, /model; nothing is left out of its requests (default none: they get a 404)",
		"base URL for Amazon Bedrock (`/model/…`), where nothing is left out")
	return rows
}

// upstreamField is a key of Config.Upstream.
type upstreamField struct {
	config *Config
	name   string
}

func (f upstreamField) set(base string) {
	if base == "" {
		return
	}
	if f.config.Upstream == nil {
		f.config.Upstream = llm.Upstreams{}
	}
	f.config.Upstream[f.name] = base
}

// clientAPIs are the names of the APIs that stet's own agent speaks.
func clientAPIs() (names []string) {
	for _, a := range apis.All() {
		if a.Reader != nil {
			names = append(names, a.Name)
		}
	}
	return names
}

func policyNames() []string {
	var names []string
	for _, p := range append(trim.Policies(), trim.Finish) {
		names = append(names, string(p))
	}
	return names
}

func keyOf(name string) (key, bool) {
	i := slices.IndexFunc(keys, func(k key) bool { return k.Name == name })
	if i < 0 {
		return key{}, false
	}
	return keys[i], true
}

// keyNames lists the keys that a file may have.
func keyNames(project bool) string {
	var names []string
	for _, k := range keys {
		if !project || !k.UserOnly {
			names = append(names, k.Name)
		}
	}
	return strings.Join(names, ", ")
}

// negated reports whether the key's flag is --no-KEY.
func (k key) negated() bool { return k.Name == "record" || k.Name == "clear" }

// check validates a value against the key's type.
func (k key) check(v any) error {
	if k.valid != nil {
		if err := k.valid(v); err != nil {
			return err
		}
	}
	if n, is := v.(int); is && (n < k.Least || k.Most > 0 && n > k.Most) && !(k.Zero && n == 0) {
		want := fmt.Sprintf("%d or more", k.Least)
		if k.Most > 0 {
			want = fmt.Sprintf("%d to %d", k.Least, k.Most)
		}
		if k.Zero {
			want += ", or 0"
		}
		return fmt.Errorf("want %s, not %d", want, n)
	}
	c := new(Config)
	if err := k.assign(c, v); err != nil || k.Values == nil {
		return err
	}
	s, isText := k.field(c).(*string) // other types know their values
	if !isText || *s == "" || slices.Contains(k.Values, *s) {
		return nil
	}
	last := len(k.Values) - 1
	return fmt.Errorf("unknown value %q: choose %s or %s", *s, strings.Join(k.Values[:last], ", "), k.Values[last])
}

// assign sets the key's field to a value of its type.
func (k key) assign(c *Config, v any) (err error) {
	switch to := k.field(c).(type) {
	case *string:
		*to = v.(string)
	case upstreamField:
		to.set(v.(string))
	case *int:
		*to = v.(int)
	case *bool:
		*to = v.(bool)
	case *trim.Policy:
		*to, err = trim.ParsePolicy(v.(string))
	case *trim.LineNumbers:
		*to = trim.LineNumbers(strings.TrimPrefix(v.(string), "auto"))
	case *[]policy.Rule:
		*to, err = parseRules(v)
	case *notify.Config:
		*to, err = parseNotify(v)
	case *Limits:
		*to, err = parseLimits(v)
	case *[]MCPServer:
		*to, err = parseMCP(v)
	case **dialect.Table:
		*to, err = parseDialects(v)
	case encoding.TextUnmarshaler:
		err = to.UnmarshalText([]byte(v.(string)))
	default:
		err = fmt.Errorf("%s has no type that can be set", k.Name)
	}
	return err
}
