// Package address judges network addresses before something connects to them on behalf of an agent. A name is no measure:
// whoever owns it decides where it leads, so that the address that is dialled has to be judged, after resolving.
//
// Promise: pure; what is not known to be part of the public internet is refused.
//
// Layer 1: it imports core.
package address

import (
	"net/netip"
	"slices"
	"sync"

	"loci/core"
)

// block is a range of addresses that are no part of the public internet.
type block struct {
	prefix netip.Prefix
	kind   string // what they are, to follow "an address"
}

// blocks are the registries of special purposes, and what clouds answer with metadata and credentials. The first that holds
// an address says what it is.
var blocks = sync.OnceValue(func() []block {
	var all []block
	for _, row := range [][2]string{
		{"169.254.169.254/32", "that gives out a cloud's metadata"},
		{"168.63.129.16/32", "that gives out a cloud's metadata"},
		{"100.100.100.200/32", "that gives out a cloud's metadata"},
		{"127.0.0.0/8", "of this machine itself"},
		{"0.0.0.0/8", "of this machine itself"},
		{"10.0.0.0/8", "of a private network"},
		{"172.16.0.0/12", "of a private network"},
		{"192.168.0.0/16", "of a private network"},
		{"100.64.0.0/10", "of a provider's private network"},
		{"169.254.0.0/16", "of the local link"},
		{"192.0.0.0/24", "for special purposes"},
		{"192.0.2.0/24", "for documentation"},
		{"192.88.99.0/24", "that stands for another one"},
		{"198.18.0.0/15", "for measurements"},
		{"198.51.100.0/24", "for documentation"},
		{"203.0.113.0/24", "for documentation"},
		{"224.0.0.0/4", "of a group of machines"},
		{"240.0.0.0/4", "for special purposes"},

		{"::1/128", "of this machine itself"},
		{"::/128", "of this machine itself"},
		{"fd00:ec2::254/128", "that gives out a cloud's metadata"},
		{"fd20:ce::254/128", "that gives out a cloud's metadata"},
		{"fc00::/7", "of a private network"},
		{"fec0::/10", "of a private network"},
		{"fe80::/10", "of the local link"},
		{"ff00::/8", "of a group of machines"},
		{"64:ff9b::/32", "that stands for another one"}, // NAT64, with its local prefix
		{"2002::/16", "that stands for another one"},    // 6to4
		{"2001::/32", "that stands for another one"},    // Teredo
		{"2001::/23", "for special purposes"},
		{"2001:db8::/32", "for documentation"},
		{"3fff::/20", "for documentation"},
	} {
		all = append(all, block{netip.MustParsePrefix(row[0]), row[1]})
	}
	return all
})

// Kind says what an address is, to follow "an address"; empty: one of the public internet. An address of IPv4 that is written
// as one of IPv6 is judged as what it is.
func Kind(a netip.Addr) string {
	if !a.IsValid() {
		return "that can't be read"
	}
	if a.Zone() != "" {
		return "of the local link"
	}
	a = a.Unmap()
	for _, b := range blocks() {
		if b.prefix.Contains(a) {
			return b.kind
		}
	}
	if a.Is6() && a.As16()[0]>>5 != 1 { // outside of 2000::/3, of which the public gets its addresses
		return "for special purposes"
	}
	return ""
}

// Public returns an error unless an address is one of the public internet, and none of own, the addresses of this machine.
func Public(a netip.Addr, own []netip.Addr) error {
	kind := Kind(a)
	if kind == "" && slices.ContainsFunc(own, func(o netip.Addr) bool { return o.Unmap() == a.Unmap() }) {
		kind = "of this machine itself"
	}
	if kind == "" {
		return nil
	}
	return core.E(core.Forbidden, "%s is an address %s", a, kind)
}
