package daemon

import (
	"context"
	"fmt"
	"net"
	"strconv"

	"loci/core"
)

// CheckListen rejects host names other than localhost and addresses that other machines could reach.
func CheckListen(address string) error {
	if address == "" {
		return nil
	}
	host, port, err := net.SplitHostPort(address)
	if err == nil {
		_, err = strconv.ParseUint(port, 10, 16)
	}
	if err != nil {
		return core.E(core.Invalid, "the address to listen on, %q, is not host:port", address).WithHint("like 127.0.0.1:8283")
	}
	if ip := net.ParseIP(host); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return core.E(core.Unsupported, "only loopback addresses can be listened on, not %q", address).
			WithHint("127.0.0.1:8283, and an SSH tunnel to reach it from another machine")
	}
	return nil
}

// PortLine describes who can use an open port.
func PortLine(address string, token bool) string {
	if token {
		return fmt.Sprintf("listening on http://%s, for requests with the token", address)
	}
	return fmt.Sprintf("listening on http://%s: every account of this machine can use it; set LOCI_TOKEN to ask for a password", address)
}

// listenTCP opens the loopback port if one is configured.
func (d *Daemon) listenTCP(ctx context.Context) error {
	address := d.cfg.Settings.Listen
	if address == "" {
		return nil
	}
	if host, port, err := net.SplitHostPort(address); err == nil && host == "localhost" {
		address = net.JoinHostPort("127.0.0.1", port)
	}
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", address)
	if err != nil {
		return core.E(core.Unavailable, "listen on %s: %w", address, err).WithHint("choose another port; the socket works without one")
	}
	d.tcp = l
	line := PortLine(l.Addr().String(), d.cfg.Settings.Token != "")
	d.logger.InfoContext(ctx, line) //nolint:sloglint // the same line that a person at the terminal reads
	d.notify(line)
	return nil
}

// ownPorts are the ports of this machine on which the daemon itself listens.
func (d *Daemon) ownPorts() []uint16 {
	if d.tcp == nil {
		return nil
	}
	if at, ok := d.tcp.Addr().(*net.TCPAddr); ok {
		return []uint16{uint16(at.Port)}
	}
	return nil
}
