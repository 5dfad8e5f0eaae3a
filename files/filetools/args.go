package filetools

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"math/big"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/stet-dev/stet/internal/limits"
	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/tool"
)

// The arguments of a tool: one table makes their schema and checks them. A content may come in parts instead of an argument.

// param is one argument of a tool: its schema is made from it, and it is checked by it.
type param struct {
	name     string
	typ      string // as JSON Schema calls it
	about    string
	required bool
	def      string // JSON; shown, and nothing more
	min      int    // of an integer, where hasMin
	max      int    // of an integer; 0: none
	hasMin   bool
	quiet    bool   // the bounds are checked and not shown
	items    params // of an array of objects
	repeats  bool   // is shown only where repeated reads are shortened, and accepted everywhere
}

type params []param

// schema is the JSON Schema of the arguments.
func (ps params) schema() json.RawMessage {
	var b bytes.Buffer
	ps.write(&b)
	return b.Bytes()
}

// without returns the parameters that are shown where repeated reads are not shortened.
func (ps params) without() params {
	return slices.DeleteFunc(slices.Clone(ps), func(p param) bool { return p.repeats })
}

func (ps params) write(b *bytes.Buffer) {
	b.WriteString(`{"type":"object","properties":{`)
	var required []string
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		fmt.Fprintf(b, `%q:{"type":%q`, p.name, p.typ)
		if p.about != "" {
			fmt.Fprintf(b, `,"description":%s`, encode(p.about))
		}
		if p.items != nil {
			b.WriteString(`,"items":`)
			p.items.write(b)
		}
		if p.def != "" {
			fmt.Fprintf(b, `,"default":%s`, p.def)
		}
		if p.hasMin && !p.quiet {
			fmt.Fprintf(b, `,"minimum":%d`, p.min)
		}
		b.WriteByte('}')
		if p.required {
			required = append(required, p.name)
		}
	}
	b.WriteByte('}')
	if required != nil {
		fmt.Fprintf(b, `,"required":%s`, encode(required))
	}
	b.WriteByte('}')
}

// values are the arguments that a call gave, checked: string, int, bool or []values.
type values map[string]any

func (v values) has(name string) bool { _, ok := v[name]; return ok }

func (v values) str(name string) string { s, _ := v[name].(string); return s }

func (v values) flag(name string, def bool) bool {
	if b, ok := v[name].(bool); ok {
		return b
	}
	return def
}

func (v values) num(name string, def int) int {
	if n, ok := v[name].(int); ok {
		return n
	}
	return def
}

func (v values) list(name string) []values { l, _ := v[name].([]values); return l }

// badArgument is the failure of a call whose arguments are wrong.
func badArgument(name, format string, a ...any) *failure {
	return &failure{code: tool.InvalidArgument, arg: name, message: "Invalid " + name + ": " + fmt.Sprintf(format, a...)}
}

// parse checks the arguments of a call. An optional argument that is null was
// not given.
func (ps params) parse(raw json.RawMessage) (values, error) {
	if len(bytes.TrimSpace(raw)) == 0 {
		raw = json.RawMessage("{}")
	}
	if !utf8.Valid(raw) || !json.Valid(raw) {
		return nil, badArgument("arguments", "not valid JSON.")
	}
	v, err := ps.object("", raw)
	if err != nil {
		return nil, err
	}
	return v, nil
}

// object parses one object. prefix is put in front of the names in errors.
func (ps params) object(prefix string, raw json.RawMessage) (values, *failure) {
	s := rawjson.New(raw)
	if s.Kind() != '{' {
		return nil, badArgument(cmp.Or(strings.TrimSuffix(prefix, "."), "arguments"), "must be an object, not %s.", typeOf(raw))
	}
	out, seen := values{}, make([]bool, len(ps))
	for s.Enter('{'); s.Next(); {
		name := string(s.Key())
		val := s.Skip().Of(raw)
		if s.Err() != nil {
			break
		}
		full := prefix + name
		i := slices.IndexFunc(ps, func(p param) bool { return p.name == name })
		if i < 0 {
			return nil, badArgument(quoted(limits.Shorten(full, 200)), "no such argument; there are %s.", ps.names())
		}
		if seen[i] {
			return nil, badArgument(full, "given twice.")
		}
		seen[i] = true
		if string(val) == "null" && !ps[i].required {
			continue
		}
		x, f := ps[i].value(full, val)
		if f != nil {
			return nil, f
		}
		out[name] = x
	}
	if s.Err() != nil {
		return nil, badArgument("arguments", "nested too deep, or a name in them is written with escapes.")
	}
	for _, p := range ps {
		if p.required && !out.has(p.name) {
			return nil, badArgument(prefix+p.name, "required.")
		}
	}
	return out, nil
}

func (ps params) names() string {
	var all []string
	for _, p := range ps.without() {
		all = append(all, p.name)
	}
	return strings.Join(all, ", ")
}

func typeOf(raw json.RawMessage) string {
	switch raw = bytes.TrimSpace(raw); raw[0] {
	case '{':
		return "an object"
	case '[':
		return "an array"
	case '"':
		return "a string"
	case 't', 'f':
		return "a boolean"
	case 'n':
		return "null"
	}
	return "a number"
}

// value parses one argument.
func (p *param) value(name string, raw json.RawMessage) (any, *failure) {
	wrong := func() *failure {
		article := "a "
		if strings.ContainsRune("aeiou", rune(p.typ[0])) {
			article = "an "
		}
		return badArgument(name, "must be %s%s, not %s.", article, p.typ, typeOf(raw))
	}
	switch p.typ {
	case "string":
		if raw[0] != '"' {
			return nil, wrong()
		}
		d := rawjson.NewDecoder(raw)
		s, exact := d.Text(rawjson.Span{End: len(raw)})
		if exact.IsZero() {
			return nil, badArgument(name, "has half of a surrogate pair.")
		}
		return s, nil
	case "boolean":
		var b bool
		if json.Unmarshal(raw, &b) != nil || raw[0] != 't' && raw[0] != 'f' {
			return nil, wrong()
		}
		return b, nil
	case "integer":
		if c := raw[0]; c != '-' && (c < '0' || c > '9') {
			return nil, wrong()
		}
		return p.integer(name, string(raw))
	case "array":
		return p.array(name, raw, wrong)
	}
	return nil, wrong()
}

// integer takes all that JSON Schema calls an integer: 2, 2.0, 2e0.
func (p *param) integer(name, raw string) (any, *failure) {
	n, err := strconv.Atoi(raw)
	if err != nil {
		if len(raw) > 32 {
			return nil, badArgument(name, "out of range.")
		}
		f, ok := new(big.Float).SetString(raw)
		switch {
		case !ok || f.MantExp(nil) > 63:
			return nil, badArgument(name, "out of range.")
		case !f.IsInt():
			return nil, badArgument(name, "must be an integer, not %s.", raw)
		}
		i, _ := f.Int64()
		n = int(i)
	}
	switch {
	case p.hasMin && p.max > 0 && (n < p.min || n > p.max):
		return nil, badArgument(name, "must be from %d to %d, not %d.", p.min, p.max, n)
	case p.hasMin && n < p.min:
		return nil, badArgument(name, "must be %d or more, not %d.", p.min, n)
	}
	return n, nil
}

func (p *param) array(name string, raw json.RawMessage, wrong func() *failure) (any, *failure) {
	var all []json.RawMessage
	if json.Unmarshal(raw, &all) != nil || raw[0] != '[' {
		return nil, wrong()
	}
	list := make([]values, len(all))
	for i, r := range all {
		v, f := p.items.object(fmt.Sprintf("%s[%d].", name, i), r)
		if f != nil {
			return nil, f
		}
		list[i] = v
	}
	return list, nil
}

// Stage begins a content that comes in parts, for tool.Call.Staged. The parts are
// collected outside of the tree.
func (t *Tools) Stage(c tool.Call) (tool.Staged, error) {
	var named struct{ Path string }
	p, err := t.root.Path(".")
	if json.Unmarshal(c.Arguments, &named) == nil {
		if there, wrong := t.root.Path(t.relative(c, named.Path)); wrong == nil { // else the call fails by it
			p = there
		}
	}
	if err != nil {
		return nil, err
	}
	return t.root.Stage(p)
}

// arguments parses the arguments, to which a content that came in parts is added.
func (q *toolCall) arguments() (values, error) {
	if q.call.Staged == nil {
		return q.def.params.parse(q.call.Arguments)
	}
	i := slices.IndexFunc(q.def.params, func(p param) bool { return p.name == "content" })
	if i < 0 {
		return nil, badArgument("content", "%s takes none.", q.def.name)
	}
	args, err := slices.Delete(slices.Clone(q.def.params), i, i+1).parse(q.call.Arguments)
	if err != nil {
		return nil, err
	}
	data, err := q.call.Staged.Bytes()
	switch {
	case err != nil:
		return nil, err
	case !utf8.Valid(data):
		return nil, badArgument("content", "its parts are not UTF-8.")
	}
	args["content"] = string(data)
	return args, nil
}
