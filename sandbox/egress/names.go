package egress

import (
	"net"
	"net/netip"
	"strings"

	"golang.org/x/net/dns/dnsmessage"

	"loci/core"
)

// mostQuery is more than any question that is answered has.
const mostQuery = 1232

// noRule is why most hosts are not reached.
const noRule = "no rule allows it"

// answer serves the resolver. One goroutine does: whoever floods it only waits for himself.
func (e *Egress) answer() {
	query := make([]byte, mostQuery)
	for {
		n, from, err := e.resolver.ReadFrom(query)
		if err != nil {
			return // it was closed
		}
		if e.hold(query[:n], from) {
			continue
		}
		e.tell(query[:n], from)
	}
}

// tell answers a question.
func (e *Egress) tell(query []byte, to net.Addr) {
	if reply := e.reply(query); reply != nil {
		_, _ = e.resolver.WriteTo(reply, to) // who asked may be gone
	}
}

// reply answers a question; nil: it is none.
func (e *Egress) reply(query []byte) []byte {
	var p dnsmessage.Parser
	asked, err := p.Start(query)
	if err != nil || asked.Response {
		return nil
	}
	head := dnsmessage.Header{
		ID: asked.ID, Response: true, OpCode: asked.OpCode, RecursionDesired: asked.RecursionDesired, RecursionAvailable: true,
	}
	q, err := p.Question()
	if _, more := p.Question(); err != nil || more != dnsmessage.ErrSectionDone || asked.OpCode != 0 { //nolint:errorlint // never wrapped
		head.RCode = dnsmessage.RCodeFormatError
		return pack(head, nil, netip.Addr{})
	}
	var at netip.Addr
	head.RCode, at = e.resolve(q)
	return pack(head, &q, at)
}

// resolve is what becomes of a question. An allowed name has an address of IPv4 and no other record.
func (e *Egress) resolve(q dnsmessage.Question) (dnsmessage.RCode, netip.Addr) {
	host, ok := hostname(q.Name.String())
	if !ok || q.Class != dnsmessage.ClassINET {
		return dnsmessage.RCodeNameError, netip.Addr{}
	}
	if !e.cfg.Allows(host, false) {
		if addresses(q.Type) && !e.wasAsked(host) {
			e.refuse(core.JobRefusal{Host: host, Why: noRule, Rule: host})
		}
		return dnsmessage.RCodeNameError, netip.Addr{}
	}
	if q.Type != dnsmessage.TypeA {
		return dnsmessage.RCodeSuccess, netip.Addr{}
	}
	at, ok := e.place(host)
	if !ok {
		return dnsmessage.RCodeServerFailure, netip.Addr{}
	}
	return dnsmessage.RCodeSuccess, at
}

// pack writes a reply. The question is given back letter by letter, as some resolvers check.
func pack(head dnsmessage.Header, q *dnsmessage.Question, at netip.Addr) []byte {
	m := dnsmessage.Message{Header: head}
	if q != nil {
		m.Questions = []dnsmessage.Question{*q}
	}
	if at.IsValid() {
		m.Answers = []dnsmessage.Resource{{
			Header: dnsmessage.ResourceHeader{Name: q.Name, Class: dnsmessage.ClassINET, TTL: 60},
			Body:   &dnsmessage.AResource{A: at.As4()},
		}}
	}
	reply, err := m.Pack()
	if err != nil {
		return nil // what was parsed can be packed
	}
	return reply
}

// place gives a host an address of its own, by which a connection tells which host it is for.
func (e *Egress) place(host string) (netip.Addr, bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	n, known := e.names[host]
	if !known {
		if n = len(e.hosts) + 1; n > mostNames {
			return netip.Addr{}, false
		}
		e.names[host] = n
		e.hosts = append(e.hosts, host)
	}
	return netip.AddrFrom4([4]byte{127, 9, byte(n >> 8), byte(n)}), true
}

// host says whom an address was given to.
func (e *Egress) host(at net.Addr) (string, uint16, bool) {
	tcp, ok := at.(*net.TCPAddr)
	if !ok {
		return "", 0, false
	}
	a := tcp.AddrPort().Addr().Unmap()
	if !a.Is4() || a.As4()[0] != 127 || a.As4()[1] != 9 {
		return "", 0, false
	}
	n := int(a.As4()[2])<<8 | int(a.As4()[3])
	e.mu.Lock()
	defer e.mu.Unlock()
	if n < 1 || n > len(e.hosts) {
		return "", 0, false
	}
	return e.hosts[n-1], tcp.AddrPort().Port(), true
}

// hostname returns a name as rules have it: in small letters and without the dot at its end. What is no name of a host is
// not ok, addresses among it.
func hostname(name string) (host string, ok bool) {
	host = strings.ToLower(strings.TrimSuffix(name, "."))
	if host == "" || len(host) > 253 {
		return "", false
	}
	labels := strings.Split(host, ".")
	for _, label := range labels {
		if label == "" || len(label) > 63 || strings.ContainsFunc(label, func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-' && r != '_'
		}) {
			return "", false
		}
	}
	if last := labels[len(labels)-1]; strings.Trim(last, "0123456789") == "" || strings.HasPrefix(last, "0x") {
		return "", false
	}
	return host, true
}
