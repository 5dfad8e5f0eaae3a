package rpclines

import (
	"errors"
	"io"
	"strings"
	"testing"
)

// A line that needs several reads, a line that is too long, and a last line without a line end.
func TestNext(t *testing.T) {
	fits := `{"id":1,"method":"` + strings.Repeat("x", 200_000) + `"}`
	long := `{"id":2,"method":"` + strings.Repeat("x", 200_004) + `"}`
	r := NewReader(strings.NewReader("\ufeff"+fits+"\n \n\ufeff\n"+long+"\n\ufeff{\"method\":\"m\"}"), len(fits)+4)
	if m, err := r.Next(); err != nil || string(m.Line) != fits || string(m.ID) != "1" {
		t.Errorf("%d bytes, %v", len(m.Line), err)
	}
	var refused *Refusal
	if _, err := r.Next(); !errors.As(err, &refused) || refused.Code != InvalidRequest || string(refused.ID) != "2" {
		t.Errorf("a long line: %v", err)
	}
	if m, err := r.Next(); err != nil || m.Method != "m" || m.ID != nil {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := r.Next(); err != io.EOF {
		t.Error(err)
	}
}
