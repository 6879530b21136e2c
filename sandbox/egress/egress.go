// Package egress is the daemon's side of the network of one job: a resolver that knows the names which a person allowed, and
// connections to those hosts. The job's end are sockets that were made in its own network and handed over, so that nothing of
// it is reached by an address, and a program needs no proxy and no variable.
//
// Promises: a host is resolved here, and the address that is dialled is judged after that; a name that no rule allows does not
// exist, for any type of question, so that no question leaves the machine. Names, connections and bytes are bounded. When Close
// returns, every connection is cut and no goroutine is left.
//
// It imports core, core/address and sandbox/frame.
package egress

import (
	"context"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"loci/core"
)

// The bounds of one job.
const (
	mostNames       = 4096
	mostRefused     = 20
	mostAtOnce      = 64
	mostConnections = 20_000
	mostHeld        = 64 // questions for names that wait for a person
)

// Config is what a job may reach.
type Config struct {
	Allows  func(host string, named bool) bool // as core.JobNetwork has it
	Ask     func(ctx context.Context, ask core.HostAsk) *core.JobRefusal
	Outside Outside
	Bytes   int64 // at most so many, in both directions together

	Local     []uint16 // as core.JobNetwork has it, like Reached, Listens and Opened
	Reached   func(port uint16)
	Ours      func() []uint16 // ports of this machine that no job reaches; nil: none
	Listens   func(ctx context.Context, port uint16) bool
	Opened    func(port uint16, err error)
	Listening func() []uint16 // the ports on which something in the job's network listens
}

// Egress is the network of one job.
type Egress struct {
	cfg       Config
	resolver  net.PacketConn
	listeners []net.Listener
	local     []net.Listener // of ports of this machine, in their order
	door      *door          // nil: nothing gets in

	ctx    context.Context // of the job
	cancel context.CancelFunc
	work   sync.WaitGroup
	slots  chan struct{} // one for each connection at a time
	held   chan struct{} // one for each question for a name that waits for a person
	begun  atomic.Int64  // connections so far
	opened atomic.Int64  // ports of this machine that lead in
	left   atomic.Int64  // bytes

	mu      sync.Mutex // guards what follows
	names   map[string]int
	hosts   []string // by the number that names has
	refused []core.JobRefusal
	asked   map[string]*core.JobRefusal // what persons said, by host; nil: they allowed it
}

// Start serves the sockets of a job, the resolver's first. They are closed in any case.
func Start(cfg Config, sockets []*os.File) (*Egress, error) {
	e := &Egress{
		cfg: cfg, slots: make(chan struct{}, mostAtOnce), held: make(chan struct{}, mostHeld), names: map[string]int{},
		asked: map[string]*core.JobRefusal{},
	}
	e.left.Store(cfg.Bytes)
	e.ctx, e.cancel = context.WithCancel(context.Background())
	err := e.adopt(sockets)
	for _, s := range sockets {
		_ = s.Close() // what is used was copied
	}
	if err != nil {
		e.Close()
		return nil, err
	}
	e.work.Go(e.answer)
	for _, l := range e.listeners {
		e.work.Go(func() { e.accept(l, e.serve) })
	}
	for i, l := range e.local {
		e.work.Go(func() { e.accept(l, func(inside net.Conn) { e.serveLocal(inside, cfg.Local[i]) }) })
	}
	if e.door != nil {
		e.work.Go(e.watchPorts)
	}
	return e, nil
}

// adopt makes connections and listeners of the sockets.
func (e *Egress) adopt(sockets []*os.File) (err error) {
	if len(sockets) == 0 {
		return core.E(core.Unavailable, "the sandbox handed over no socket")
	}
	if e.resolver, err = net.FilePacketConn(sockets[0]); err != nil {
		return err
	}
	sockets = sockets[1:]
	if e.cfg.Listens != nil {
		if len(sockets) == 0 {
			return core.E(core.Unavailable, "the sandbox handed over no door")
		}
		if e.door, err = newDoor(sockets[len(sockets)-1]); err != nil {
			return err
		}
		sockets = sockets[:len(sockets)-1]
	}
	if len(sockets) < len(e.cfg.Local) {
		return core.E(core.Unavailable, "the sandbox handed over too few sockets")
	}
	for i, s := range sockets {
		l, err := net.FileListener(s)
		if err != nil {
			return err
		}
		if i < len(sockets)-len(e.cfg.Local) {
			e.listeners = append(e.listeners, l)
		} else {
			e.local = append(e.local, l)
		}
	}
	return nil
}

// Close cuts every connection and returns what was not reached.
func (e *Egress) Close() []core.JobRefusal {
	e.cancel()
	if e.resolver != nil {
		_ = e.resolver.Close() // nobody asks any more
	}
	for _, l := range slices.Concat(e.listeners, e.local) {
		_ = l.Close() // likewise
	}
	e.door.close()
	e.work.Wait()
	return e.refused // nobody writes it any more
}

// refuse notes a host that is not reached. A program that tries again is noted once.
func (e *Egress) refuse(r core.JobRefusal) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if len(e.refused) < mostRefused && !slices.Contains(e.refused, r) {
		e.refused = append(e.refused, r)
	}
}

// accept serves the connections that come to one port.
func (e *Egress) accept(l net.Listener, serve func(net.Conn)) {
	for {
		select {
		case e.slots <- struct{}{}:
		case <-e.ctx.Done():
			return
		}
		inside, err := l.Accept()
		if err != nil {
			<-e.slots
			select {
			case <-e.ctx.Done():
				return
			case <-time.After(breath): // the daemon may have too many files open
				continue
			}
		}
		e.work.Go(func() {
			defer func() { <-e.slots }()
			serve(inside)
		})
	}
}

// breath is how long nothing is accepted after an error.
const breath = 50 * time.Millisecond
