package mcpserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

	"github.com/stet-dev/stet/internal/rpclines"
)

// firstWithoutBatches is the first revision in which a line has one message. Before, it may have an array of them.
const firstWithoutBatches = "2025-06-18"

// maxBatch is the limit of messages in a batch.
const maxBatch = 1000

// batch is an array of messages in one line. Its requests are handled as if each came alone. Their answers are one array, which is
// written when the last one is there.
type batch struct {
	out *lineWriter

	mu      sync.Mutex
	left    int // requests without an answer
	answers [][]byte
	size    int // bytes of answers
}

// answer adds the answer to the request id; nil: the client has cancelled the request, and wants none.
func (b *batch) answer(id, line []byte) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if line = bytes.TrimSpace(line); b.size+len(line) > b.out.limits.unread {
		line = rpcError(id, jsonrpc.CodeInternalError, fmt.Sprintf(
			"done, but the answers to this batch have more than %d bytes: send requests with large answers alone", b.out.limits.unread))
	}
	if len(line) > 0 {
		b.answers = append(b.answers, line)
		b.size += len(line)
	}
	if b.left--; b.left == 0 && len(b.answers) > 0 {
		b.out.put(append(append([]byte{'['}, bytes.Join(b.answers, []byte{','})...), "]\n"...))
	}
}

func rpcError(id []byte, code int, why string) []byte {
	message, _ := json.Marshal(why) // a string always can be
	return fmt.Appendf(nil, `{"jsonrpc":"2.0","id":%s,"error":{"code":%d,"message":%s}}`, id, code, message)
}

// beginBatch passes on the messages of a batch.
func (r *lineReader) beginBatch(elements []json.RawMessage) {
	switch {
	case !r.batches:
		r.refuse(json.RawMessage("null"), rpclines.InvalidRequest, "no batches: a line has one message in this revision of the protocol")
		return
	case len(elements) == 0 || len(elements) > maxBatch:
		r.refuse(json.RawMessage("null"), rpclines.InvalidRequest, fmt.Sprintf("a batch has 1 to %d messages", maxBatch))
		return
	}
	b := &batch{out: r.out, left: 1} // until all its messages are passed on
	for _, e := range elements {
		m, err := rpclines.Parse(e)
		refused := (*rpclines.Refusal)(nil)
		errors.As(err, &refused)
		if refused == nil {
			refused = r.refusal(m)
		}
		if refused == nil && m.Method != "" && m.ID != nil && !r.expect(m, b) {
			refused = &rpclines.Refusal{ID: json.RawMessage("null"), Code: rpclines.InvalidRequest, Why: sameID}
		}
		if refused == nil {
			r.rest = append(append(r.rest, bytes.ReplaceAll(m.Line, []byte{'\n'}, []byte{' '})...), '\n')
			continue
		}
		b.mu.Lock()
		b.left++
		b.mu.Unlock()
		b.answer(refused.ID, rpcError(refused.ID, refused.Code, refused.Why))
	}
	b.answer(nil, nil)
}
