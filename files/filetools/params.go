package filetools

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
)

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
