package egress

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"time"

	"loci/core"
	"loci/core/address"
)

// Outside is the network of the machine.
type Outside interface {
	// Lookup returns the addresses of a name.
	Lookup(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to exactly this address.
	Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Own returns the addresses of this machine.
	Own() ([]netip.Addr, error)
}

// Machine is the network as this machine has it.
type Machine struct{}

// Lookup implements Outside. The name is whole: no domain of the machine's own is tried behind it. The names of this machine
// itself, which a whole name isn't looked up for in its files, are what they are everywhere.
func (Machine) Lookup(ctx context.Context, host string) ([]netip.Addr, error) {
	if name := strings.ToLower(strings.TrimSuffix(host, ".")); name == "localhost" || strings.HasSuffix(name, ".localhost") {
		return []netip.Addr{netip.AddrFrom4([4]byte{127, 0, 0, 1}), netip.IPv6Loopback()}, nil
	}
	return net.DefaultResolver.LookupNetIP(ctx, "ip", host+".")
}

// Dial implements Outside.
func (Machine) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", to.String())
}

// Own implements Outside.
func (Machine) Own() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	var own []netip.Addr
	for _, a := range all {
		if prefix, err := netip.ParsePrefix(a.String()); err == nil {
			own = append(own, prefix.Addr())
		}
	}
	return own, err
}

// The bounds of a dial.
const (
	dialTime      = 5 * time.Second // of one address
	lookupTime    = 10 * time.Second
	mostAddresses = 4
)

// dial connects to a host. What its name leads to is judged first, and then exactly that is dialled.
func (e *Egress) dial(host string, port uint16) (net.Conn, error) {
	found, err := e.lookup(host)
	if err != nil {
		return nil, unreached{why: "its name can't be resolved"}
	}
	own, err := e.cfg.Outside.Own()
	if err != nil {
		return nil, unreached{why: "the addresses of this machine can't be known"}
	}
	var failed error = unreached{why: "its name has no address"}
	for _, a := range found[:min(len(found), mostAddresses)] {
		a = a.Unmap()
		if err := e.judge(a, own, host, port); err != nil {
			failed = err
			continue
		}
		conn, err := e.try(netip.AddrPortFrom(a, port))
		if err == nil {
			return conn, nil
		}
		failed = unreached{why: "it does not answer"}
	}
	return nil, failed
}

func (e *Egress) lookup(host string) ([]netip.Addr, error) {
	ctx, cancel := context.WithTimeout(e.ctx, lookupTime)
	defer cancel()
	return e.cfg.Outside.Lookup(ctx, host)
}

// judge says why an address that a name leads to is not dialled.
func (e *Egress) judge(a netip.Addr, own []netip.Addr, host string, port uint16) error {
	err := address.Public(a, own)
	if err == nil || e.cfg.Allows(a.String(), true) {
		return nil
	}
	return e.ask(core.HostAsk{Host: a.String(), Port: port, Behind: host, Why: err.Error()},
		unreached{why: "its name leads to " + err.Error(), rule: a.String()})
}

func (e *Egress) try(to netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(e.ctx, dialTime)
	defer cancel()
	return e.cfg.Outside.Dial(ctx, to)
}

// unreached says why a host is not reached.
type unreached struct{ why, rule string }

func (u unreached) Error() string { return u.why }
