package approval_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/tool"
)

// A button answers its question once, in its way alone, and while the question is open. It approves nothing that a person should look at. (GRD-1)
func TestButton(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		secret := []byte("secret")
		var queue approval.Queue
		ask := func(q approval.Question, wait time.Duration) (approval.Question, <-chan approval.Answer) {
			ctx, cancel := context.WithTimeout(t.Context(), wait)
			q.Expires = time.Now().Add(wait)
			given := make(chan approval.Answer, 1)
			go func() {
				defer cancel()
				a, _ := queue.Ask(ctx, q)
				given <- a
			}()
			synctest.Wait()
			open := queue.Open()
			return open[len(open)-1], given
		}
		plain := approval.Question{Native: true, Command: "touch one", Seal: "seal", Grantable: true}
		one, given := ask(plain, time.Minute)
		two, _ := ask(plain, time.Minute)
		yes := one.Button(secret, approval.Approve)
		for what, p := range map[string]struct {
			id string
			approval.Press
		}{
			"another question":       {two.ID, yes},
			"another verdict":        {one.ID, approval.Press{Verdict: approval.ForSession, Key: yes.Key}},
			"another server":         {one.ID, one.Button([]byte("other"), approval.Approve)},
			"no key":                 {one.ID, approval.Press{Verdict: approval.Approve}},
			"for the session":        {one.ID, one.Button(secret, approval.ForSession)},
			"a question that is not": {"nothing", approval.Press{Verdict: approval.Approve, Key: yes.Key}},
		} {
			if err := queue.Press(secret, p.id, p.Press); !errors.Is(err, approval.ErrPress) {
				t.Errorf("%s: %v", what, err)
			}
		}
		if err := queue.Press(secret, one.ID, yes); err != nil {
			t.Error(err)
		}
		if a := <-given; a.Verdict != approval.Approve || a.By != "a button in a message" || a.Seal != "seal" {
			t.Errorf("%+v", a)
		}
		for _, again := range []approval.Press{yes, one.Button(secret, approval.Reject)} {
			if err := queue.Press(secret, one.ID, again); !errors.Is(err, approval.ErrAnswered) {
				t.Errorf("again: %v", err)
			}
		}
		time.Sleep(time.Minute)
		synctest.Wait()
		if err := queue.Press(secret, two.ID, two.Button(secret, approval.Approve)); !errors.Is(err, approval.ErrAnswered) {
			t.Errorf("after the question has expired: %v", err)
		}
		for _, note := range []tool.Note{tool.Stet, tool.Deletes, tool.Hidden, tool.Large, tool.Outside} {
			careful := plain
			careful.Notes = []tool.Note{note}
			q, given := ask(careful, time.Minute)
			if err := queue.Press(secret, q.ID, q.Button(secret, approval.Approve)); !errors.Is(err, approval.ErrPress) {
				t.Errorf("%s: %v", note, err)
			}
			if err := queue.Press(secret, q.ID, q.Button(secret, approval.Reject)); err != nil || (<-given).Verdict != approval.Reject {
				t.Errorf("%s: %v", note, err)
			}
		}
	})
}
