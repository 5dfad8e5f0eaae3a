package history

// Moment says why what was sent before need not stay as it was: the provider
// has nothing of it in its cache any more, or so little that it does not pay.
type Moment string

// The moments.
const (
	Gap        Moment = "gap"        // more time has passed than the cache lives
	Model      Moment = "model"      // another model is asked
	Tools      Moment = "tools"      // tools or system text are others
	Resume     Moment = "resume"     // a stored session goes on
	Compaction Moment = "compaction" // the context began anew
	Pressure   Moment = "pressure"   // the window is nearly full
	Margin     Moment = "margin"     // what leaves pays for what is written again
)

// Break is a moment: what stands in the first After messages may be planned anew,
// with nothing that follows taken into account.
type Break struct {
	After int
	Why   Moment
}

// Cold says that the messages added so far are about to be sent at such a
// moment: what was decided before may be decided anew. It is called before
// Plan. Off and KeepLatest have no use for it.
func (f *Fold) Cold(Moment) {
	if !f.engine.admits() {
		return
	}
	f.account.cold, f.account.guessed = true, true
	if f.account.balance >= 0 {
		f.elide(0)
	}
}
