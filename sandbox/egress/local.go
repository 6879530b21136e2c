package egress

import (
	"fmt"
	"net"
	"net/netip"
	"slices"

	"loci/core"
)

// serveLocal connects a job to a port of this machine that a person opened to it.
func (e *Egress) serveLocal(inside net.Conn, port uint16) {
	defer e.cutWithJob(inside)()
	name := fmt.Sprintf("localhost:%d", port)
	refuse := func(why string) {
		if e.ctx.Err() == nil {
			e.refuse(core.JobRefusal{Host: name, Why: why})
		}
	}
	switch {
	case e.cfg.Ours != nil && slices.Contains(e.cfg.Ours(), port):
		refuse("this port is Loci's own, which no line reaches")
		return
	case e.begun.Add(1) > mostConnections:
		refuse("the line has opened too many connections")
		return
	}
	for _, own := range []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()} {
		outside, err := e.try(netip.AddrPortFrom(own, port))
		if err != nil {
			continue
		}
		defer e.cutWithJob(outside)()
		if e.cfg.Reached != nil {
			e.cfg.Reached(port)
		}
		e.join(name, inside, outside)
		return
	}
	refuse("nothing listens there")
}
