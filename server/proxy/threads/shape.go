// Package threads stores conversations that a provider also keeps, so that a request with only the new items can be read as a
// whole request.
//
// A continuation is a request that names an earlier answer by its id and has only the items that are new since then: messages, or
// what the API calls them. This package makes a [Turn] of it: one body with all items, which a codec can decode like any other.
// [Turn.Patched] puts edits of the new items back into the real body.
//
// Each item is stored with two texts: as it came from the client, and as it was sent upstream. The provider has the second one. So
// an edit of an older item is an error, unless that item was sent with the same edit.
//
// The package knows no API: a [Shape] says where the items are. All data is raw JSON.
//
// The steps:
//
//   - [Shape.Whole] takes a request with all items. [Store.Continue] takes one with only the new
//     items, and finds the others.
//   - [Turn.Patched] makes the real body from the whole one after its edits.
//   - [Store.Hold] stores the conversation under the id of the answer, before the client sees the end of the answer.
package threads

import (
	"errors"
	"slices"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Shape says where the items are in the bodies of an API.
type Shape struct {
	// Items is the member that lists the items.
	Items string
	// Keeps says that a continuation inherits the other members of the body that began the conversation. Otherwise it has its own.
	Keeps bool
	// Without names the members that a continuation has and a whole body does not have. It is used if Keeps is false.
	Without []string
	// Lone makes an item of a string in place of the list; nil: a list is required.
	Lone func(literal []byte) []byte
}

// parsed is a parsed body.
type parsed struct {
	list  rawjson.Span   // the inside of the list, without brackets; or the string in its place
	items []rawjson.Span // of the list
	lone  bool           // there is a string instead of the list
}

var (
	errNoItems = errors.New("the body has no list of items, or two")
	errRest    = errors.New("more than items would change")
	errLone    = errors.New("the text that is in place of the list would change")
)

// ErrSent is the error for edits that would change an older item from its sent text.
var ErrSent = errors.New("an item that was sent before would change")

// parse finds the items of a body.
func (s *Shape) parse(body []byte) (p parsed, err error) {
	found := 0
	scan := rawjson.New(body)
	for scan.Enter('{'); scan.Next(); {
		if string(scan.Key()) != s.Items {
			scan.Skip()
			continue
		}
		found++
		switch kind := scan.Kind(); {
		case kind == '[':
			at := scan
			whole := scan.Skip()
			p.list = rawjson.Span{Start: whole.Start + 1, End: whole.End - 1}
			for at.Enter('['); at.Next(); {
				p.items = append(p.items, at.Skip())
			}
		case kind == '"' && s.Lone != nil:
			p.list, p.lone = scan.Skip(), true
		default:
			return p, errNoItems
		}
	}
	if err := scan.End(); err != nil {
		return p, err
	}
	if found != 1 {
		return p, errNoItems
	}
	return p, nil
}

// texts returns the raw text of each item of a body.
func (s *Shape) texts(body []byte, p *parsed) [][]byte {
	if p.lone {
		return [][]byte{s.Lone(p.list.Of(body))}
	}
	out := make([][]byte, len(p.items))
	for i, at := range p.items {
		out[i] = at.Of(body)
	}
	return out
}

// around returns the text before and after the items in a whole body with the other members of body.
func (s *Shape) around(body []byte) (head, tail []byte) {
	out := &head
	add := func(key, value []byte) {
		if n := len(*out); n > 0 && (*out)[n-1] != '{' {
			*out = append(*out, ',')
		}
		*out = append(append(append(append(*out, '"'), key...), '"', ':'), value...)
	}
	head = append(head, '{')
	scan := rawjson.New(body)
	for scan.Enter('{'); scan.Next(); {
		key := scan.Key()
		value := scan.Skip().Of(body)
		switch {
		case string(key) == s.Items:
			add(key, []byte{'['})
			out, tail = &tail, []byte{']'}
		case !slices.Contains(s.Without, string(key)):
			add(key, value)
		}
	}
	return head, append(tail, '}')
}
