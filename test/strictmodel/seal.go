package strictmodel

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
)

// seal is the content of the signature of a block of thinking or of a compaction. It describes the content before the block at
// the time when the block was made. It needs no memory and no key, so all servers of a test can read each other's signatures.
type seal struct {
	Model  string `json:"model"`
	Before string `json:"before,omitempty"` // the Own of the previous thinking; for a compaction: of the last thinking that it replaces
	System string `json:"system,omitempty"` // of the top-level instructions
	Prefix string `json:"prefix,omitempty"` // of everything before it except thinking; "": not recorded
	Role   string `json:"role,omitempty"`   // for a compaction: the role of the last message that it replaces
	Own    string `json:"own"`              // of all fields above and the block's text
}

// short is a hash of text.
func short(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

func (s seal) own(text string) string {
	return short(fmt.Sprintf("%q", []string{s.Model, s.Before, s.System, s.Prefix, s.Role, text}))
}

// signature completes the seal for a block with this text and returns it as a signature.
func (s *seal) signature(text string) string {
	s.Own = s.own(text)
	out, err := json.Marshal(s)
	if err != nil {
		panic(err) // it holds only strings
	}
	return base64.StdEncoding.EncodeToString(out)
}

// unseal reads a signature. ok says that a scripted model made it for this text.
func unseal(signature, text string) (s seal, ok bool) {
	plain, err := base64.StdEncoding.DecodeString(signature)
	if err != nil || json.Unmarshal(plain, &s) != nil {
		return seal{}, false
	}
	return s, s.Own == s.own(text)
}
