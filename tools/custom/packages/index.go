package packages

import (
	"net"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"loci/core"
)

// The public indexes, and the hosts that have their files.
const (
	publicPyPI  = "https://pypi.org/simple"
	publicFiles = "files.pythonhosted.org"
	publicNpm   = "https://registry.npmjs.org"
)

// index is where packages come from.
type index struct {
	address string
	host    string
	hide    string // what of its address nobody is shown; empty: nothing
	plain   bool   // nothing is encrypted on the way
	network *core.JobNetwork
}

// indexOf reads the address of an index that a person configured; empty: the public one counts.
func indexOf(given, public, setting string) (index, error) {
	address, hosts := given, []string{}
	if given == "" {
		address = public
	}
	if address == publicPyPI {
		hosts = append(hosts, publicFiles)
	}
	wrong := func(why string) (index, error) {
		return index{}, core.E(core.Invalid, "%s in the configuration is no address of an index: %s", setting, why).
			WithHint("write it like %s", public)
	}
	u, err := url.Parse(address)
	if err != nil || u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" {
		return wrong("it has to begin with https:// or http:// and a host")
	}
	port := uint64(443)
	if u.Scheme == "http" {
		port = 80
	}
	if u.Port() != "" {
		if port, err = strconv.ParseUint(u.Port(), 10, 16); err != nil || port == 0 {
			return wrong("its port is none")
		}
	}
	i := index{host: strings.ToLower(u.Hostname()), plain: u.Scheme == "http"}
	if u.User != nil {
		i.hide = u.User.String() + "@"
	}
	i.network = &core.JobNetwork{Ports: []uint16{uint16(port)}}
	ip, notIP := netip.ParseAddr(i.host)
	switch {
	case i.host == "localhost" || notIP == nil && ip.IsLoopback():
		i.network.Local, i.network.Ports = []uint16{uint16(port)}, []uint16{other(uint16(port))}
		if notIP == nil { // the sandbox has no other address of its own
			i.host = "127.0.0.1"
			u.Host = net.JoinHostPort(i.host, strconv.FormatUint(port, 10))
		}
	case notIP == nil:
		return wrong("programs reach hosts by their names only, and " + i.host + " is none")
	}
	hosts = append(hosts, i.host)
	i.network.Allows = func(host string, _ bool) bool {
		if _, err := netip.ParseAddr(host); err == nil { // what the name of an index leads to, which may be private if a person chose it
			return given != ""
		}
		return slices.Contains(hosts, host)
	}
	i.address = u.String()
	return i, nil
}

// other is a port of hosts that is not the given one of this machine: a sandbox serves each port once.
func other(port uint16) uint16 {
	if port == 443 {
		return 80
	}
	return 443
}
