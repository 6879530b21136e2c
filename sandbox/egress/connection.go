package egress

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"

	"loci/core"
)

// The ports that are served unless a job names others. That of SSH shows nothing by which to judge it, and is served for hosts
// that a rule names.
const (
	portSSH   = 22
	portHTTP  = 80
	portHTTPS = 443
)

// Ports are those that are served unless a job names others.
func Ports() []uint16 { return []uint16{portHTTPS, portHTTP, portSSH} }

// chunk is how many bytes are copied before they are counted.
const chunk = 256 << 10

// serve connects a job to a host: what it says first has to agree with the name that it asked for.
func (e *Egress) serve(inside net.Conn) {
	defer e.cutWithJob(inside)()
	host, port, ok := e.host(inside.LocalAddr())
	if !ok {
		return
	}
	err := e.permit(host, port)
	var first []byte
	if err == nil {
		first, err = e.hear(inside, host, port)
	}
	var outside net.Conn
	if err == nil {
		outside, err = e.dial(host, port)
	}
	if err != nil {
		var u unreached
		if errors.As(err, &u) && e.ctx.Err() == nil {
			e.refuse(core.JobRefusal{Host: host, Why: u.why, Rule: u.rule})
		}
		return
	}
	defer e.cutWithJob(outside)()
	if _, err := outside.Write(first); err == nil && e.spend(host, int64(len(first))) {
		e.join(host, inside, outside)
	}
}

// cutWithJob closes a connection, or what takes them, when the job ends and when the returned function is called.
func (e *Egress) cutWithJob(c io.Closer) (closes func()) {
	stop := context.AfterFunc(e.ctx, func() { _ = c.Close() }) // whoever uses it sees that it is closed
	return func() {
		stop()
		_ = c.Close() // nothing more is said
	}
}

// permit judges a connection before a word of it is read. The name was allowed, or it would have no address.
func (e *Egress) permit(host string, port uint16) error {
	switch {
	case e.begun.Add(1) > mostConnections:
		return unreached{why: "the line has opened too many connections"}
	case e.left.Load() < 0:
		return unreached{why: overBudget}
	case port != portSSH || e.cfg.Allows(host, true):
		return nil
	}
	return e.ask(core.HostAsk{Host: host, Port: port},
		unreached{why: "its port 22 is open only where a rule names the host itself", rule: host})
}

const overBudget = "the line has sent and received too much"

// join copies both ways, until both sides have ended or one has failed.
func (e *Egress) join(host string, inside, outside net.Conn) {
	var up sync.WaitGroup
	up.Go(func() { e.pump(host, outside, inside) })
	e.pump(host, inside, outside)
	up.Wait()
}

// pump copies one way. An end is passed on; a fault ends both ways.
func (e *Egress) pump(host string, to, from net.Conn) {
	for {
		n, err := io.CopyN(to, from, chunk)
		within := e.spend(host, n)
		if err == nil && within {
			continue
		}
		half, ok := to.(interface{ CloseWrite() error })
		if ok && within && errors.Is(err, io.EOF) && half.CloseWrite() == nil {
			return
		}
		_, _ = to.Close(), from.Close() // the other way ends with them
		return
	}
}

// spend counts bytes and reports whether the job may have them.
func (e *Egress) spend(host string, n int64) bool {
	if e.left.Add(-n) >= 0 {
		return true
	}
	e.refuse(core.JobRefusal{Host: host, Why: overBudget})
	return false
}
