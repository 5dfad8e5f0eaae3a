package agent

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stet-dev/stet/tool"
)

// The loop waits for a call until its context ends, and a short time after that.
func TestPatience(t *testing.T) {
	after := func(d time.Duration) work {
		return func(context.Context) (tool.Result, error) {
			time.Sleep(d)
			return tool.Result{Text: "done"}, nil
		}
	}
	for name, c := range map[string]struct {
		takes  time.Duration
		waited time.Duration
		err    error
	}{
		"before the end": {time.Hour, time.Hour, nil},
		"within grace":   {2*time.Hour + grace/2, 2*time.Hour + grace/2, nil},
		"deaf":           {9 * time.Hour, 2*time.Hour + grace, context.DeadlineExceeded},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), 2*time.Hour)
				defer cancel()
				began := time.Now()
				res, err := after(c.takes).within(ctx, grace)
				if took := time.Since(began); took != c.waited || !errors.Is(err, c.err) || (res.Text == "done") != (c.err == nil) {
					t.Fatalf("%q, %v after %v", res.Text, err, took)
				}
				time.Sleep(10 * time.Hour) // until the work has ended
			})
		})
	}
}
