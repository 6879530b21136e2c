package stage

import (
	"fmt"
	"net/netip"
	"os"

	"golang.org/x/sys/unix"

	"loci/sandbox/frame"
)

// backlog is how many connections wait until the daemon accepts them.
const backlog = 128

// openNetwork makes what the daemon serves of the job's network: a resolver, and ports at any address. They belong to this
// network wherever they are used, so that nothing else leads out of it.
func (c *cell) openNetwork() error {
	if c.spec.Network == nil {
		return nil
	}
	// It always answers; what takes its time is a person who is asked for a name.
	text := "nameserver " + frame.Resolver + "\noptions timeout:30 attempts:2\n"
	if err := os.WriteFile("/new/etc/resolv.conf", []byte(text), 0o644); err != nil { //nolint:gosec // G306: everyone inside reads it
		return err
	}
	resolver := &unix.SockaddrInet4{Port: 53, Addr: netip.MustParseAddr(frame.Resolver).As4()}
	if err := c.openSocket(unix.SOCK_DGRAM, resolver); err != nil {
		return fmt.Errorf("a resolver: %w", err)
	}
	for _, port := range c.spec.Network.Ports {
		if err := c.openSocket(unix.SOCK_STREAM, &unix.SockaddrInet4{Port: int(port)}); err != nil {
			return fmt.Errorf("the port %d: %w", port, err)
		}
	}
	return nil
}

// openSocket opens a socket for the daemon.
func (c *cell) openSocket(kind int, at *unix.SockaddrInet4) error {
	fd, err := unix.Socket(unix.AF_INET, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return err
	}
	c.sockets = append(c.sockets, os.NewFile(uintptr(fd), "network"))
	if err := unix.Bind(fd, at); err != nil || kind != unix.SOCK_STREAM {
		return err
	}
	return unix.Listen(fd, backlog)
}
