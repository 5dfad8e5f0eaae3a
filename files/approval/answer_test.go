package approval_test

import (
	"encoding/json"
	"testing"

	"github.com/stet-dev/stet/files/approval"
)

// FuzzAnswer: for any input over the socket, only asked questions are approved.
func FuzzAnswer(f *testing.F) {
	f.Add([]byte(`{"verdict":"approve","seal":"x"}`))
	f.Add([]byte(`{"verdict":"pattern","pattern":"**","seal":"x"}`))
	f.Add([]byte(`{"verdict":"reject","words":"no"}`))
	q := approval.Question{Path: "a/b", Seal: "the seal", Why: "control file"}
	f.Fuzz(func(t *testing.T, data []byte) {
		var a approval.Answer
		if json.Unmarshal(data, &a) != nil {
			return
		}
		if err := q.Check(a); err == nil && a.Approves() && (a.Seal != q.Seal || a.Verdict != approval.Approve || a.Relayed) {
			t.Errorf("accepted: %+v", a)
		}
	})
}
