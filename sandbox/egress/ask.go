package egress

import (
	"cmp"
	"errors"
	"net"
	"slices"

	"golang.org/x/net/dns/dnsmessage"

	"loci/core"
)

// errAsked ends what a person did not allow; what is told of it was noted when they were asked.
var errAsked = errors.New("a person did not allow it")

// ask asks a person for a host, once for each, and holds whoever wants to reach it until they answer. Where nobody is asked, it fails
// with the reason that is given.
func (e *Egress) ask(a core.HostAsk, unasked unreached) error {
	if e.cfg.Ask == nil {
		return unasked
	}
	a.Unasked = core.JobRefusal{Host: cmp.Or(a.Behind, a.Host), Why: unasked.why, Rule: unasked.rule}
	e.mu.Lock()
	refusal, known := e.asked[a.Host]
	e.mu.Unlock()
	if !known {
		if refusal = e.cfg.Ask(e.ctx, a); refusal != nil {
			e.refuse(*refusal)
		}
		e.mu.Lock()
		if len(e.asked) < mostNames {
			e.asked[a.Host] = refusal
		}
		e.mu.Unlock()
	}
	if refusal != nil {
		return errAsked
	}
	return nil
}

// wasAsked reports whether a person was asked for a host.
func (e *Egress) wasAsked(host string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	_, known := e.asked[host]
	return known
}

// hold answers a question for the addresses of a name later, if a person has to be asked for it. To hold the question rather than
// the connection is what programs bear: most wait longer for a name than for the first word of a server.
func (e *Egress) hold(query []byte, from net.Addr) bool {
	host, ok := e.unallowed(query)
	if !ok {
		return false
	}
	select {
	case e.held <- struct{}{}:
	default: // it is answered that there is no such name
		return false
	}
	query = slices.Clone(query)
	e.work.Go(func() {
		defer func() { <-e.held }()
		_ = e.ask(core.HostAsk{Host: host}, unreached{why: noRule, rule: host}) // the answer says what came of it
		e.tell(query, from)
	})
	return true
}

// unallowed is the name whose addresses a question wants, if a person has yet to be asked for it.
func (e *Egress) unallowed(query []byte) (host string, ok bool) {
	if e.cfg.Ask == nil {
		return "", false
	}
	var p dnsmessage.Parser
	if _, err := p.Start(query); err != nil {
		return "", false
	}
	q, err := p.Question()
	if err != nil || !addresses(q.Type) || q.Class != dnsmessage.ClassINET {
		return "", false
	}
	host, ok = hostname(q.Name.String())
	return host, ok && !e.cfg.Allows(host, false) && !e.wasAsked(host)
}

// addresses reports whether a type of question is about the addresses of a name.
func addresses(t dnsmessage.Type) bool { return t == dnsmessage.TypeA || t == dnsmessage.TypeAAAA }
