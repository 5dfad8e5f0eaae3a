package e2e

import (
	"fmt"
	"syscall"
	"testing"

	"github.com/stet-dev/stet/llm/llmtest"
)

// Qwen Code opens its dialog after the hook, if nobody has answered. It reports a call when the call may run, and not before.
func askQwen(t *testing.T) {
	a := newer(qwen("chat", "openai"), "0.24.4")
	a.skip(t)
	program := a.command("", "", false)[0]
	const dialog = "Yes, allow once"
	r := newAsking(t, a, "", []string{program, "--auth-type", "openai", "--approval-mode", "default", "-i", "Water the garden"},
		llmtest.Say("One.", llmtest.Shell("touch one")),
		llmtest.Say("Two.", llmtest.Shell("touch two")),
		llmtest.Say("Three.", llmtest.Shell("touch three")),
		llmtest.Say("Four.", llmtest.Write("four", "4\n")),
		llmtest.Say("Five.", llmtest.Read(bedsFile)), llmtest.Say("Five.", llmtest.Edit(bedsFile, oldLevel, newLevel)),
		llmtest.Say("Six.", llmtest.Shell("git push origin main || touch six")),
		llmtest.Say("Seven.", llmtest.Shell("touch seven")),
		llmtest.Say("Eight.", llmtest.Shell("touch eight")),
		llmtest.Say("Nine.", llmtest.Write("nine", "9\n")),
		llmtest.Say("All done."),
	)
	r.allowed("Bash", "qwen wants to run touch one", "one", `about "Water the garden"`)
	r.rejected("Bash", "qwen wants to run touch two", "ask the gardener first")
	r.changed("Bash", "qwen wants to run touch three", "edited")
	r.allowed("Write", "qwen wants to write four", "four", "+4")
	r.rejected("Edit", "qwen wants to write "+bedsFile, "the level stays", "+"+newLevel)

	r.asks("qwen wants to run git push origin main") // asked about once, though a rule asks, too
	r.person.keys("a")
	r.there("six")
	r.happened("Bash", "asked once where a rule asks, too")

	r.asks("qwen wants to run touch seven")
	r.guard.end(syscall.SIGKILL)
	r.agent.expect(dialog)
	r.configure("ask-pause = 1\n")
	r.start()
	r.agent.keys("Enter")
	r.there("seven")
	r.happened("Bash", "service killed: the dialog comes")

	r.agent.expect("touch eight")
	r.agent.expect(dialog) // no answer came in time
	r.agent.keys("Enter")
	r.there("eight")
	r.happened("Bash", "late: the dialog comes")
	r.agent.expect("nine")
	r.agent.expect(dialog)
	r.agent.keys("Escape") // No
	r.happened("Write", "a no in the terminal")

	r.decided("one: approved, by person", "-: rejected, by person", "edited: edited, by person", "four: approved, by person", bedsFile+": rejected, by person",
		"six: approved, by person", "seven: allowed, by the agent", "eight: allowed, by the agent")
	r.denied("two", "three", "nine")
	if git(t, r.repo, "diff", "--stat") != "" {
		t.Error("an edit that was denied is there")
	}
}

// held is the test of an agent that has no dialog at its hooks: a call about which a rule asks is held.
func held(a agent) func(*testing.T) {
	return func(t *testing.T) {
		a.skip(t)
		r := &asking{guarded: newGuarded(t, a, scripted(
			llmtest.Say("One.", llmtest.Shell("git push origin one || touch one")),
			llmtest.Say("Two.", llmtest.Shell("git push origin two || touch two")),
			llmtest.Say("Three.", llmtest.Shell("git push origin three || touch three")),
			llmtest.Say("Four.", llmtest.Write("asked-four", "4\n")),
			llmtest.Say("Five.", llmtest.Edit(bedsFile, oldLevel, newLevel)),
			llmtest.Say("Six.", llmtest.Write("asked-six", "6\n")),
			llmtest.Say("Seven.", llmtest.Shell("git push origin seven || touch seven")),
			llmtest.Say("All done.")))}
		r.guard.end(syscall.SIGTERM)
		r.configure(fmt.Sprintf("[[rule]]\npaths = [\"asked-*\", %q]\ndo = \"ask\"\n", bedsFile))
		r.start()
		r.approve()
		r.agent = openScreen(t, r.repo, r.env, a.command(r.home, "Water the garden", false))

		r.allowed("Bash", a.name+" wants to run git push origin one", "one", `about "Water the garden"`)
		r.rejected("Bash", "wants to run git push origin two", "ask the gardener first")
		r.changed("Bash", "wants to run git push origin three", "edited")
		r.allowed("Write", "wants to write asked-four", "asked-four", "+4")
		r.rejected("Edit", "wants to write "+bedsFile, "the level stays", "+"+newLevel)
		r.rejected("Write", "wants to write asked-six", "no sixth")

		r.asks("wants to run git push origin seven")
		r.decided("one: approved, by person", "-: rejected, by person", "edited: edited, by person", "asked-four: approved, by person", bedsFile+": rejected, by person", "asked-six: rejected, by person")
		r.guard.end(syscall.SIGKILL) // the agent goes on as without a guard
		r.there("seven")
		r.happened("Bash", "service killed: it goes on")

		r.denied("two", "three", "asked-six")
		if git(t, r.repo, "diff", "--stat") != "" {
			t.Error("an edit that was denied is there")
		}
	}
}
