package proxyserver

import (
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// holdoutFile has the key by which conversations of the holdout are chosen. It is made once: with another key others would be chosen.
const holdoutFile = "holdout-key"

// holdout returns a function that chooses one of n conversations by a keyed hash of their names. state is the directory of the key.
func holdout(state string, n int) (func(conversation string) bool, error) {
	file := filepath.Join(state, holdoutFile)
	key := make([]byte, 32)
	_, _ = rand.Read(key) // Read does not fail
	if err := os.MkdirAll(state, 0o700); err != nil {
		return nil, err
	}
	err := makeOnce(file, key)
	if err == nil {
		key, err = os.ReadFile(file)
	}
	if err != nil {
		return nil, fmt.Errorf("holdout: %w", err)
	}
	if len(key) != 32 {
		return nil, fmt.Errorf("holdout: %s is damaged: delete it, and the holdout begins anew", file)
	}
	return func(conversation string) bool {
		mac := hmac.New(sha256.New, key)
		_, _ = mac.Write([]byte(conversation)) // a hash returns no errors
		return binary.LittleEndian.Uint64(mac.Sum(nil))%uint64(n) == 0
	}, nil
}

// makeOnce makes a file that no other process sees unfinished, unless it is there.
func makeOnce(file string, b []byte) error {
	f, err := os.CreateTemp(filepath.Dir(file), holdoutFile+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }()
	_, err = f.Write(b)
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err = os.Link(f.Name(), file); errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}
