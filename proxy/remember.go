package proxy

// remember writes down what later requests need to be sent as this one was, before any
// of its answer is passed on: the process may end at any time. What was decided with this
// request is written before it goes out.
func (p *Proxy) remember(x *exchange, j *judgement) {
	decided := j.moment != "" || j.stays != nil || len(j.moved) > 0
	if p.writer == nil || p.memory.salt == unchanged || len(j.sent.links) == 0 || !decided && !j.checks {
		return
	}
	p.work.Add(1) // the request is counted already, so this is no race with Wait
	x.kept = p.writer.now(append(j.elsewhere(), j.known.Turn), p.work.Done)
	if decided {
		p.writer.wait(x.kept)
	}
}
