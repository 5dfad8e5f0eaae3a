package threads

import (
	"bytes"
	"slices"

	"github.com/stet-dev/stet/internal/rawjson"
)

// Turn is a request, and the whole request that it means. It shares memory with the request's body.
type Turn struct {
	// Body is the whole conversation in one body, with the items as the client sees them. For a request with all items it is the
	// request's own body.
	Body []byte
	// From is the offset in Body at which the new items begin; 0: all are new.
	From int

	shape  Shape
	real   []byte
	parsed parsed // of real
	before *node  // the last item sent before; nil: none
	sent   []byte // Body before From, as it was sent
	tail   []byte // Body after the items
}

// Whole returns the turn of a request that has all items. body is kept, not copied.
func (s Shape) Whole(body []byte) (*Turn, error) {
	p, err := s.parse(body)
	if err != nil {
		return nil, err
	}
	return &Turn{Body: body, shape: s, real: body, parsed: p}, nil
}

// Continues reports whether the request has only the new items.
func (t *Turn) Continues() bool { return t.before != nil }

// continued returns the turn of a request with only the items after before.
func (s Shape) continued(body []byte, before *node) (*Turn, error) {
	p, err := s.parse(body)
	if err != nil {
		return nil, err
	}
	t := &Turn{shape: s, real: body, parsed: p, before: before}
	head, tail := before.frame()
	if !s.Keeps {
		head, tail = s.around(body)
	}
	nodes := before.path()
	size := len(head) + len(tail) + len(body)
	for _, n := range nodes {
		size += len(n.came) + 1
	}
	fresh := s.texts(body, &p)
	list := func(text func(*node) []byte) []byte {
		out := append(make([]byte, 0, size), head...)
		for i, n := range nodes {
			if i > 0 {
				out = append(out, ',')
			}
			out = append(out, text(n)...)
		}
		if len(nodes) > 0 && len(fresh) > 0 {
			out = append(out, ',')
		}
		return out
	}
	t.Body = list(func(n *node) []byte { return n.came })
	t.From = len(t.Body)
	t.sent = t.Body[:t.From:t.From]
	if slices.ContainsFunc(nodes, func(n *node) bool { return n.went != nil }) {
		t.sent = list((*node).asSent)
	}
	if p.lone {
		t.Body = append(t.Body, fresh[0]...)
	} else {
		t.Body = append(t.Body, p.list.Of(body)...)
	}
	t.Body, t.tail = append(t.Body, tail...), tail
	return t, nil
}

// Patched appends the request's body, with the edits that were made in Body, to dst, and returns the extended dst. whole is Body
// after the edits. It is an error if anything but new items would change, or if an older item in whole is not as it was sent. Then
// dst is returned unchanged.
func (t *Turn) Patched(dst, whole []byte) ([]byte, error) {
	if !t.Continues() {
		return append(dst, whole...), nil
	}
	if !bytes.HasPrefix(whole, t.sent) {
		return dst, ErrSent
	}
	if !bytes.HasSuffix(whole[len(t.sent):], t.tail) {
		return dst, errRest
	}
	items := whole[len(t.sent) : len(whole)-len(t.tail)]
	if t.parsed.lone {
		if !bytes.Equal(items, t.Body[t.From:len(t.Body)-len(t.tail)]) {
			return dst, errLone
		}
		return append(dst, t.real...), nil
	}
	dst = append(dst, t.real[:t.parsed.list.Start]...)
	dst = append(dst, items...)
	return append(dst, t.real[t.parsed.list.End:]...), nil
}

// held returns the new items of the turn, with the text from the client and the text in the body sent.
func (t *Turn) held(sent []byte) (came, went [][]byte, err error) {
	came = t.shape.texts(t.real, &t.parsed)
	p, err := t.shape.parse(sent)
	if err != nil {
		return nil, nil, err
	}
	went = t.shape.texts(sent, &p)
	if len(came) != len(went) {
		return nil, nil, errRest
	}
	return came, went, nil
}

// frame returns the text around the items of the body.
func (t *Turn) frame() (head, tail []byte) {
	at := t.parsed.list
	return rawjson.Span{End: at.Start}.Of(t.real), t.real[at.End:]
}
