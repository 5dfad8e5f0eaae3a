package proxyserver

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/binary"

	"github.com/stet-dev/stet/cmd/stet/internal/tokenfile"
)

// holdout returns a function that chooses one of n conversations by a keyed hash of their names. state is the directory of the key.
func holdout(state string, n int) (func(conversation string) bool, error) {
	key, err := tokenfile.HoldoutKey(state)
	if err != nil {
		return nil, err
	}
	return func(conversation string) bool {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(conversation)) // a hash returns no errors
		return binary.LittleEndian.Uint64(mac.Sum(nil))%uint64(n) == 0
	}, nil
}
