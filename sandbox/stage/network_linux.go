package stage

import (
	"fmt"
	"net"
	"net/netip"
	"os"
	"time"

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
	for _, port := range c.spec.Network.Local {
		if err := c.openSocket(unix.SOCK_STREAM, &unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}); err != nil {
			return fmt.Errorf("the port %d of the machine: %w", port, err)
		}
	}
	if c.spec.Network.Door {
		ours, theirs, err := frame.Pair(unix.SOCK_SEQPACKET)
		if err != nil {
			return err
		}
		c.sockets = append(c.sockets, theirs)
		if c.door, err = frame.Conn(ours); err != nil {
			return err
		}
	}
	return nil
}

// knockTime is how long a server of the job may leave a connection waiting.
const knockTime = 2 * time.Second

// answerKnocks makes the connections into the sandbox that the daemon asks for. Only a process in here can make one, and the job
// can't: it holds no end of the door.
func answerKnocks(door *net.UnixConn) {
	for {
		var k frame.Knock
		files, err := frame.Receive(door, &k)
		frame.Close(files...)
		if err != nil {
			return // the daemon is done
		}
		conn, err := enter(k.Port)
		answer, with := frame.Knocked{}, []*os.File{conn}
		if err != nil {
			answer.Errno, with = int(unix.ECONNREFUSED), nil
		}
		err = frame.Send(door, answer, with...)
		frame.Close(with...)
		if err != nil {
			return
		}
	}
}

// enter connects to a port on which something in here listens, at either address of its own.
func enter(port uint16) (conn *os.File, err error) {
	for _, at := range []unix.Sockaddr{
		&unix.SockaddrInet4{Port: int(port), Addr: [4]byte{127, 0, 0, 1}}, &unix.SockaddrInet6{Port: int(port), Addr: [16]byte{15: 1}},
	} {
		family := unix.AF_INET
		if _, six := at.(*unix.SockaddrInet6); six {
			family = unix.AF_INET6
		}
		var fd int
		if fd, err = unix.Socket(family, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0); err != nil {
			continue
		}
		wait := unix.NsecToTimeval(knockTime.Nanoseconds())
		if err = unix.SetsockoptTimeval(fd, unix.SOL_SOCKET, unix.SO_SNDTIMEO, &wait); err == nil { // of connecting, too
			err = unix.Connect(fd, at)
		}
		if err == nil {
			return os.NewFile(uintptr(fd), "entered"), nil
		}
		_ = unix.Close(fd) // nothing was sent
	}
	return nil, err
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
