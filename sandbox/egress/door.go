package egress

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"sync"
	"syscall"
	"time"

	"loci/core"
)

// The bounds of what comes into a job's network.
const (
	lookEvery   = 250 * time.Millisecond
	mostOpened  = 8   // ports of one job
	mostNoticed = 100 // ports on which it listens
)

// door is the way into a job's network: its first process makes the connections that are asked for.
type door struct {
	mu   sync.Mutex // one asks at a time
	conn *net.UnixConn
}

func (d *door) close() {
	if d != nil {
		_ = d.conn.Close() // nobody asks any more
	}
}

// watchPorts opens ports on which the job listens to this machine, as a person lets it.
func (e *Egress) watchPorts() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var known []uint16
	for {
		select {
		case <-e.ctx.Done():
			return
		case <-tick.C:
		}
		for _, port := range e.cfg.Listening() {
			if len(known) >= mostNoticed || slices.Contains(known, port) || e.handedOver(port) {
				continue
			}
			known = append(known, port)
			e.work.Go(func() {
				if e.cfg.Listens(e.ctx, port) {
					e.letIn(port)
				}
			})
		}
	}
}

// handedOver reports whether a port of the job's network is the daemon's.
func (e *Egress) handedOver(port uint16) bool {
	return slices.ContainsFunc(slices.Concat(e.listeners, e.local), func(l net.Listener) bool {
		at, ok := l.Addr().(*net.TCPAddr)
		return ok && at.Port == int(port)
	})
}

// letIn opens a port of this machine, at its own address only, that leads to the same one of the job.
func (e *Egress) letIn(port uint16) {
	l, err := (&net.ListenConfig{}).Listen(e.ctx, "tcp4", fmt.Sprintf("127.0.0.1:%d", port))
	if errors.Is(err, syscall.EADDRINUSE) {
		err = core.E(core.Conflict, "something else on this machine listens there")
	}
	if err == nil && e.opened.Add(1) > mostOpened {
		_ = l.Close() // nobody has connected
		err = core.E(core.TooLarge, "the line has opened %d ports already", mostOpened)
	}
	if e.ctx.Err() == nil {
		e.cfg.Opened(port, err)
	}
	if err != nil {
		return
	}
	defer e.cutWithJob(l)() // accept ends then
	e.accept(l, func(outside net.Conn) { e.bring(outside, port) })
}

// bring connects somebody on this machine to the job.
func (e *Egress) bring(outside net.Conn, port uint16) {
	defer e.cutWithJob(outside)()
	if e.begun.Add(1) > mostConnections {
		return
	}
	inside, err := e.door.knock(port)
	if err != nil {
		return // whoever connects sees that nobody is there
	}
	defer e.cutWithJob(inside)()
	e.join(fmt.Sprintf("localhost:%d", port), inside, outside)
}

var errShut = errors.New("nothing listens there")
