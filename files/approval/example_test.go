package approval_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/stet-dev/stet/files/approval"
	"github.com/stet-dev/stet/files/policy"
	"github.com/stet-dev/stet/record"
	"github.com/stet-dev/stet/test/recordtest"
	"github.com/stet-dev/stet/tool"
)

// greeter is a tool that writes a file. Its plan says what it would write, and
// Apply writes it.
type greeter struct{ file string }

func (greeter) Spec() tool.Spec { return tool.Spec{Name: "greet", Description: "Writes a greeting."} }

func (g greeter) Plan(_ context.Context, c tool.Call) (*tool.Plan, error) {
	const text = "hello\n"
	change := tool.CompareTexts("greeting.txt", "", text)
	change.Created = true
	return &tool.Plan{
		Call: c, Path: "greeting.txt", After: "hash of the text", Size: int64(len(text)),
		Diff: tool.Diff{Files: []tool.FileDiff{change}},
		Apply: func(context.Context) (tool.Result, error) {
			return tool.Result{CallID: c.ID, Text: "written"}, os.WriteFile(g.file, []byte(text), 0o644)
		},
	}, nil
}

// A handler runs the calls of a program. If policy does not allow a call, the call waits in a queue for a person. The audit trail
// records every step.
func Example() {
	file, err := os.CreateTemp("", "greeting")
	if err != nil {
		log.Fatal(err)
	}
	defer os.Remove(file.Name())
	tools, trail := new(tool.Set), new(recordtest.Memory)
	if err := tools.Add(greeter{file.Name()}); err != nil {
		log.Fatal(err)
	}
	queue := new(approval.Queue)
	handler := &approval.Handler{
		Tools: tools, Approver: queue, Journal: &record.Journal{Trail: trail},
		Policy: &policy.Policy{}, // reads are allowed, writes are asked about
	}

	// A front end shows each question, and sends the person's answer.
	questions := queue.Subscribe()
	go func() {
		defer questions.Close()
		event, err := questions.Next(context.Background())
		if err != nil {
			log.Fatal(err)
		}
		q := event.Opened
		fmt.Printf("%s wants to write %s:\n%s", q.Client, q.Path, q.Diff.Text())
		err = queue.Answer(q.ID, approval.Answer{Verdict: approval.Approve, Seal: q.Seal, By: "ada"})
		if err != nil {
			log.Fatal(err)
		}
	}()

	call := tool.Call{ID: "1", Session: "s", Client: "an agent", Name: "greet", Arguments: []byte(`{"path":"greeting.txt"}`)}
	result, err := handler.Call(context.Background(), call)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("result:", result.Text)
	entries, err := trail.Entries(context.Background(), record.TrailQuery{})
	if err != nil {
		log.Fatal(err)
	}
	for _, e := range entries {
		fmt.Println(e.Kind, e.Path, e.Decision, "by", e.By)
	}
	// Output:
	// an agent wants to write greeting.txt:
	// --- /dev/null
	// +++ b/greeting.txt
	// @@ -0,0 +1 @@
	// +hello
	// result: written
	// intent greeting.txt approved by person ada
	// outcome greeting.txt approved by person ada
}
