// Package web holds the built-in tools that leave the machine: fetch reads a page, web_search asks a search service.
//
// Promises: a host is reached only if rules of permission or a person let it, a redirect's as well; the address that is dialled
// is judged after resolving, and one that is no part of the public internet needs a rule that names it; nothing is sent but the
// request itself: no cookies, no credentials of an address, nothing through a proxy that a variable names. Everything is bounded
// in size, time and count, also what is packed. What comes back is marked as foreign.
//
// Layer 1, below tools: it imports core and core/address.
package web

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strconv"
	"time"

	"loci/core"
	"loci/core/address"
)

// Network is the network of the machine.
type Network interface {
	// Lookup returns the addresses of a name.
	Lookup(ctx context.Context, host string) ([]netip.Addr, error)
	// Dial connects to exactly this address.
	Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error)
	// Own returns the addresses of this machine.
	Own() ([]netip.Addr, error)
}

// Config is what the tools need to know of the machine.
type Config struct {
	Network Network // nil: there is none
	Parser  core.Parser
	Agent   string // what a server is told of who asks
	SearXNG string // the address of one that web_search asks; empty: a service that there is a key for
}

// Web holds the tools.
type Web struct{ cfg Config }

// New returns the tools.
func New(cfg Config) *Web {
	if cfg.Agent == "" {
		cfg.Agent = "loci"
	}
	return &Web{cfg}
}

// Bounds of one request.
const (
	dialTime      = 10 * time.Second
	mostAddresses = 4
	mostHeader    = 256 << 10 // bytes of a response's header
)

// via makes a client that reaches what the rules of one call allow.
func (w *Web) via(rules core.HostRules) *http.Client {
	d := &dialler{net: w.cfg.Network, rules: rules}
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{
			DialContext: d.dial, DisableKeepAlives: true, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTime,
			MaxResponseHeaderBytes: mostHeader,
		},
	}
}

// dialler connects to what the rules of one call allow.
type dialler struct {
	net   Network
	rules core.HostRules
}

// unreached says why a host is not reached, and which rule of a person's would open it.
type unreached struct {
	host, why string
	rule      string // the host that a rule would have to name; empty: none would help
}

func (u *unreached) Error() string { return u.host + " can't be reached: " + u.why }

// dial connects to a host. What its name leads to is judged first, and then exactly that is dialled.
func (d *dialler) dial(ctx context.Context, _, to string) (net.Conn, error) {
	host, portText, err := net.SplitHostPort(to)
	if err != nil {
		return nil, err
	}
	port, err := strconv.ParseUint(portText, 10, 16)
	if err != nil {
		return nil, err
	}
	if d.rules == nil || !d.rules.Allows(host, false) {
		return nil, &unreached{host: host, why: "no rule allows it", rule: host}
	}
	found, leads, err := d.lookup(ctx, host)
	if err != nil {
		return nil, err
	}
	own, err := d.net.Own()
	if err != nil {
		return nil, &unreached{host: host, why: "the addresses of this machine can't be known"}
	}
	var failed *unreached // by the first address: what a person opens is the one that is used then
	for _, a := range found[:min(len(found), mostAddresses)] {
		a = a.Unmap()
		if err := address.Public(a, own); err != nil && !d.rules.Allows(a.String(), true) {
			failed = cmp.Or(failed, &unreached{host: host, why: leads + err.Error(), rule: a.String()})
			continue
		}
		conn, err := d.try(ctx, netip.AddrPortFrom(a, uint16(port)))
		if err == nil {
			return conn, nil
		}
		failed = cmp.Or(failed, &unreached{host: host, why: fmt.Sprintf("%s does not answer on port %d", a, port)})
	}
	return nil, cmp.Or(failed, &unreached{host: host, why: "its name has no address"})
}

// lookup returns the addresses of a host, and how it leads to them.
func (d *dialler) lookup(ctx context.Context, host string) (found []netip.Addr, leads string, err error) {
	if a, err := netip.ParseAddr(host); err == nil {
		return []netip.Addr{a}, "", nil
	}
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	found, err = d.net.Lookup(ctx, host)
	if err != nil {
		return nil, "", &unreached{host: host, why: "its name can't be resolved"}
	}
	return found, "its name leads elsewhere: ", nil
}

func (d *dialler) try(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, dialTime)
	defer cancel()
	return d.net.Dial(ctx, to)
}

// explain words why a request came to nothing, and what only a person can do about it.
func explain(rules core.HostRules, env core.ToolEnv, err error) string {
	var u *unreached
	if !errors.As(err, &u) {
		return firstWords(err.Error())
	}
	text := u.Error() + "."
	if rules != nil && u.rule != "" {
		if closed := rules.Closed(u.rule); closed != "" {
			return text + " " + closed + "."
		}
	}
	if u.rule != "" {
		text += " What helps, and only the person can do it: " + grant(env, u.rule) + "."
	}
	return text
}

// grant is the command by which a person opens a host.
func grant(env core.ToolEnv, host string) string {
	text := "loci permissions add allow 'fetch(" + host + ")'"
	if env.Workspace.Path != "" {
		text += " --folder ."
	}
	return text
}
