package sent

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"strings"

	"github.com/stet-dev/stet/internal/rawjson"
	"github.com/stet-dev/stet/llm"
)

var errSealed = errors.New("sent edits cannot be read")

// sealer encrypts with a key made from the text of a part.
func sealer(p *llm.Part) (cipher.AEAD, error) {
	h := sha256.New()
	var chunk [512]byte // so the text is not copied whole
	for _, text := range []string{"stet sent edits\x00", p.CallID, "\x00", original(p)} {
		for len(text) > 0 {
			n := copy(chunk[:], text)
			h.Write(chunk[:n])
			text = text[n:]
		}
	}
	block, err := aes.NewCipher(h.Sum(nil))
	if err != nil {
		return nil, err
	}
	return cipher.NewGCMWithRandomNonce(block)
}

// seal returns the text and the reason of v, encrypted for who has the part that it replaces.
func (v *value) seal(p *llm.Part) ([]byte, error) {
	if v.sealed != nil {
		return v.sealed, nil
	}
	aead, err := sealer(p)
	if err != nil {
		return nil, err
	}
	return aead.Seal(nil, nil, []byte(v.reason+"\x00"+v.text), nil), nil
}

func (v *value) open(p *llm.Part) error {
	aead, err := sealer(p)
	if err != nil {
		return err
	}
	plain, err := aead.Open(nil, nil, v.sealed, nil)
	if err != nil {
		return err
	}
	var ok bool
	if v.reason, v.text, ok = strings.Cut(string(plain), "\x00"); !ok {
		return errSealed
	}
	v.sealed = nil
	return nil
}

// pack appends a sealed edit to the edits of a record.SentForm.
func pack(dst []byte, key uint64, sealed []byte) []byte {
	dst = binary.LittleEndian.AppendUint64(dst, key)
	dst = binary.AppendUvarint(dst, uint64(len(sealed)))
	return append(dst, sealed...)
}

// unpack reverses pack.
func unpack(b []byte) (map[uint64]value, error) {
	edits := map[uint64]value{}
	for len(b) > 0 {
		if len(b) < 9 {
			return nil, errSealed
		}
		key := binary.LittleEndian.Uint64(b)
		n, used := binary.Uvarint(b[8:])
		if b = b[8+max(0, used):]; used <= 0 || n > uint64(len(b)) {
			return nil, errSealed
		}
		content := append([]byte{}, b[:n]...)
		if key == epochMark || key == balanceMark {
			edits[key] = value{plain: content}
		} else {
			edits[key] = value{sealed: content}
		}
		b = b[n:]
	}
	return edits, nil
}

var signatureKeys = [2]string{"signature", "data"}

// signature returns the signature of a thinking block, or the data of a redacted one.
func signature(raw string) (text string) {
	var at [2]rawjson.Span
	body := []byte(raw)
	s := rawjson.New(body)
	s.Object(signatureKeys[:], at[:])
	for _, span := range at {
		rawjson.Said(body, span, &text)
	}
	return text
}
