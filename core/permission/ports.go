package permission

import (
	"strconv"

	"loci/core"
)

// The names of rules that open ports: port(3000) lets this machine reach a port on which a shell line listens, at the same number
// of its own loopback address; local_port(5432) lets shell lines reach a port of this machine.
const (
	cagePort  = "port"
	localPort = "local_port"
)

// leastPort is the lowest port that is opened to this machine: those below belong to its services.
const leastPort = 1024

// PortRule is the rule that opens a port.
func PortRule(name string, port uint16) string { return name + "(" + strconv.Itoa(int(port)) + ")" }

// opensPort reports whether rules of this name are about ports.
func opensPort(name string) bool { return name == cagePort || name == localPort }

// leadsToHosts reports whether a port leads to hosts by name in a sandbox, and can't be one of this machine's.
func leadsToHosts(port uint16) bool { return port == 22 || port == 80 || port == 443 }

// readPort reads what stands in the brackets of a rule about a port. Each is named alone: there is no pattern.
func (r *Rule) readPort(pattern string) error {
	port, err := strconv.ParseUint(pattern, 10, 16)
	if err != nil || port == 0 || strconv.FormatUint(port, 10) != pattern {
		return core.E(core.Invalid, "in brackets stands the number of one port, from 1 to 65535, as in %s(5432)", r.name)
	}
	if r.name == cagePort && r.Effect == Allow && port < leastPort {
		return core.E(core.Invalid, "ports below %d belong to this machine's own services; choose one above", leastPort)
	}
	if r.name == localPort && r.Effect == Allow && leadsToHosts(uint16(port)) {
		return core.E(core.Invalid, "in a sandbox, the ports 22, 80 and 443 lead to hosts by name; fetch(localhost) opens this machine's")
	}
	r.port = uint16(port)
	return nil
}
