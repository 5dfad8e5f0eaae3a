// Package continuation holds conversations that a provider keeps too, so that a request which
// carries only what is new can be read as a whole one.
//
// A continuation is a request that names an earlier answer by its id and has only the items that are new
// since then: messages, or whatever the API calls them. Here it becomes a [Turn]: one body with all items,
// which a codec can decode like any other. What is edited in the new items goes back into the real body
// with [Turn.Patched].
//
// For every answer two texts of each item are held: as it came from the client, and as it was sent
// upstream. The provider keeps the second one. So an edit of an older item is an error, unless that item was
// sent with the same edit.
//
// The package knows no API: a [Shape] says where the items stand. All of it is raw JSON.
//
// The way through it:
//
//   - [Shape.Whole] takes a request that has all items. [Store.Continue] takes one that has only the new
//     ones, and finds the others.
//   - [Turn.Patched] makes the real body from the whole one after its edits.
//   - [Store.Hold] holds the conversation under the id of the answer, before the client sees the end of it.
package continuation

import (
	"errors"
	"slices"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Shape says where in the bodies of an API the items stand.
type Shape struct {
	// Items is the member that lists the items.
	Items string
	// Keeps says that a continuation has the other members of the body that the conversation
	// began with. Otherwise it has its own.
	Keeps bool
	// Without are members that a continuation has and a whole body does not. They count where Keeps
	// is false.
	Without []string
	// Lone makes an item of a string that stands in place of the list; nil: it must be a list.
	Lone func(literal []byte) []byte
}

// parsed is a body, taken apart.
type parsed struct {
	list  rawjson.Span   // the inside of the list, without brackets; or the lone string
	items []rawjson.Span // of the list
	lone  bool           // there is a string in place of the list
}

var (
	errNoItems = errors.New("the body has no list of items, or two")
	errRest    = errors.New("more than items would change")
	errLone    = errors.New("the text that stands in place of the list would change")
)

// ErrSent is the error of edits that would have an older item otherwise than it was sent.
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

// texts are the items of a body, each as it stands there.
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

// around returns what stands before and behind the items in a whole body that has the other
// members of body.
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
