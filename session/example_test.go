package session_test

import (
	"context"
	"fmt"

	"github.com/stet-dev/stet/llm"
	"github.com/stet-dev/stet/session"
)

// A session is stored, resumed and rewound. Nothing is deleted, because a rewind is one more event. Memory is a store for tests.
// sqlite.OpenSessions returns a store with the same methods.
func Example() {
	ctx := context.Background()
	store := new(session.Memory)
	say := func(role llm.Role, text string) session.Message {
		return session.Message{Role: role, Parts: []llm.Part{{Text: text}}}
	}

	s, err := session.Create(ctx, store, session.Opening{Dir: "/home/me/garden"}, say(llm.User, "Plan the beds."))
	if err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Append(ctx, say(llm.Assistant, "Beans in the first, peas in the second.")); err != nil {
		fmt.Println(err)
		return
	}
	if err := s.Append(ctx, say(llm.User, "Peas only."), say(llm.Assistant, "Peas in both.")); err != nil {
		fmt.Println(err)
		return
	}

	resumed, err := session.Resume(ctx, store, s.ID()) // this may be another process
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("messages:", len(resumed.State().Messages))

	if err := resumed.Rewind(ctx, 3); err != nil { // to the state after event 3, the first answer
		fmt.Println(err)
		return
	}
	st := resumed.State()
	fmt.Println("after the rewind:", len(st.Messages), "messages,", st.Last, "events")
	// Output:
	// messages: 4
	// after the rewind: 2 messages, 6 events
}
