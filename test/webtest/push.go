package webtest

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/ecdh"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/hkdf"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"strings"
	"sync"
	"time"
)

// PushService is a push service with the browsers that are subscribed there. It checks who sends (RFC 8292), decrypts messages with the browser's
// own keys (RFC 8291), and answers a browser that it does not know with 410.
type PushService struct {
	Messages chan Pushed // with space; a message for which there is none is refused

	mu       sync.Mutex
	browsers map[string]pushBrowser // by the path of the endpoint
}

// Pushed is a message as a browser's worker gets it.
type Pushed struct {
	Browser string // its name at Subscribe
	Text    string // what the server has encrypted
	Topic   string
	Key     string // of the server
	Err     error  // why the message is not as it should be
}

type pushBrowser struct {
	name string
	key  *ecdh.PrivateKey
	auth []byte
}

// NewPushService returns one without browsers. It is to be served by https.
func NewPushService() *PushService {
	return &PushService{Messages: make(chan Pushed, 100), browsers: map[string]pushBrowser{}}
}

// Subscribe makes a subscription, and returns what PushSubscription.toJSON has in a browser. base is the address of the service.
func (s *PushService) Subscribe(name, base string) map[string]any {
	key, _ := ecdh.P256().GenerateKey(rand.Reader) // both do not fail
	auth := make([]byte, 16)
	_, _ = rand.Read(auth)
	path := "/send/" + rand.Text()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.browsers[path] = pushBrowser{name, key, auth}
	return map[string]any{
		"endpoint": base + path, "expirationTime": nil,
		"keys": map[string]string{"p256dh": base64.RawURLEncoding.EncodeToString(key.PublicKey().Bytes()), "auth": base64.RawURLEncoding.EncodeToString(auth)},
	}
}

// Forget ends the subscriptions of a browser.
func (s *PushService) Forget(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for path, b := range s.browsers {
		if b.name == name {
			delete(s.browsers, path)
		}
	}
}

// ServeHTTP implements http.Handler.
func (s *PushService) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	b, ok := s.browsers[r.URL.Path]
	s.mu.Unlock()
	if !ok {
		w.WriteHeader(http.StatusGone)
		return
	}
	m := Pushed{Browser: b.name, Topic: r.Header.Get("Topic")}
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 4096)) // more no service takes
	if err == nil {
		m.Key, err = sender(r)
	}
	if err == nil && (r.Method != http.MethodPost || r.Header.Get("Content-Encoding") != "aes128gcm" || r.Header.Get("TTL") == "") {
		err = fmt.Errorf("%s, %v", r.Method, r.Header)
	}
	if err == nil {
		m.Text, err = b.decrypt(body)
	}
	m.Err = err
	select {
	case s.Messages <- m:
		w.WriteHeader(http.StatusCreated)
	default:
		w.WriteHeader(http.StatusTooManyRequests)
	}
}

// decrypt returns the text of a message.
func (b pushBrowser) decrypt(body []byte) (string, error) {
	if len(body) < 86 || body[20] != 65 {
		return "", errors.New("the message has no header")
	}
	salt, size, of, sealed := body[:16], binary.BigEndian.Uint32(body[16:20]), body[21:86], body[86:]
	if len(sealed) > int(size) {
		return "", errors.New("the message has more than one record")
	}
	server, err := ecdh.P256().NewPublicKey(of)
	if err != nil {
		return "", err
	}
	shared, err := b.key.ECDH(server)
	if err != nil {
		return "", err
	}
	derive := func(secret, salt []byte, info string, n int) []byte {
		out, _ := hkdf.Key(sha256.New, secret, salt, info, n) // n is small enough
		return out
	}
	info := "WebPush: info\x00" + string(b.key.PublicKey().Bytes()) + string(of)
	material := derive(shared, b.auth, info, 32)
	block, err := aes.NewCipher(derive(material, salt, "Content-Encoding: aes128gcm\x00", 16))
	if err != nil {
		return "", err
	}
	sealer, err := cipher.NewGCM(block)
	if err != nil {
		return "", err
	}
	text, err := sealer.Open(nil, derive(material, salt, "Content-Encoding: nonce\x00", 12), sealed, nil)
	if err != nil {
		return "", err
	}
	text = bytes.TrimRight(text, "\x00")
	if len(text) == 0 || text[len(text)-1] != 2 {
		return "", errors.New("the record has no end")
	}
	return string(text[:len(text)-1]), nil
}

// sender returns the key of the server that has signed a request.
func sender(r *http.Request) (string, error) {
	token, key, ok := strings.Cut(strings.TrimPrefix(r.Header.Get("Authorization"), "vapid t="), ", k=")
	parts := strings.Split(token, ".")
	raw, err := base64.RawURLEncoding.DecodeString(key)
	if !ok || len(parts) != 3 || err != nil {
		return "", errors.New("the request does not say who sends")
	}
	public, err := ecdsa.ParseUncompressedPublicKey(elliptic.P256(), raw)
	if err != nil {
		return "", err
	}
	claims, _ := base64.RawURLEncoding.DecodeString(parts[1])
	signature, _ := base64.RawURLEncoding.DecodeString(parts[2])
	sum := sha256.Sum256([]byte(parts[0] + "." + parts[1]))
	if len(signature) != 64 || !ecdsa.Verify(public, sum[:], new(big.Int).SetBytes(signature[:32]), new(big.Int).SetBytes(signature[32:])) {
		return "", errors.New("the signature is wrong")
	}
	var says struct {
		Aud, Sub string
		Exp      int64
	}
	if err := json.Unmarshal(claims, &says); err != nil {
		return "", err
	}
	if ends := time.Until(time.Unix(says.Exp, 0)); says.Aud != "https://"+r.Host || ends <= 0 || ends > 24*time.Hour || !strings.HasPrefix(says.Sub, "https://") {
		return "", fmt.Errorf("the signature is for %+v", says)
	}
	return key, nil
}
