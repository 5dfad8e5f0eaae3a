package approval

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"errors"
)

// Press is what a button in a message sends. It gives one answer to one question, without a login.
type Press struct {
	Verdict Verdict `json:"verdict"` // Approve or Reject
	Key     string  `json:"key"`
}

// ErrPress is the error of a press that no button sends. It does not say whether there is such a question.
var ErrPress = errors.New("this is not what a button of an open question sends")

// Button returns what the button for a verdict sends. Its key holds for this question and this verdict alone, until the question ends.
// Whoever has it can press.
func (q Question) Button(secret []byte, v Verdict) Press { return Press{v, pressKey(secret, q.ID, v)} }

// Pressable reports whether a button may approve: the question has nothing to be careful about. A button may always reject.
func (q Question) Pressable() bool { return q.Grantable && len(q.Warnings) == 0 }

// Press answers an open question as one of its buttons says.
func (q *Queue) Press(secret []byte, id string, p Press) error {
	if !hmac.Equal([]byte(p.Key), []byte(pressKey(secret, id, p.Verdict))) {
		return ErrPress
	}
	asked, err := q.Find(id)
	if err != nil {
		return err
	}
	if p.Verdict != Reject && (p.Verdict != Approve || !asked.Pressable()) {
		return ErrPress
	}
	return q.Answer(id, Answer{Verdict: p.Verdict, Seal: asked.Seal, By: "a button in a message"})
}

// pressKey returns the key of a button. An ID is used once.
func pressKey(secret []byte, id string, v Verdict) string {
	m := hmac.New(sha256.New, secret)
	m.Write([]byte("stet button 1\x00" + id + "\x00" + string(v)))
	return base64.RawURLEncoding.EncodeToString(m.Sum(nil))
}
