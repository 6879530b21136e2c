package frame

import (
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"

	"golang.org/x/sys/unix"
)

const (
	mostPacket = 4096
	mostFiles  = 16
)

// Pair returns the two ends of a socket that keeps the bounds of packets, or of a stream. Neither is inherited by programs.
func Pair(kind int) (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, kind|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, os.NewSyscallError("socketpair", err)
	}
	return os.NewFile(uintptr(fds[0]), "ours"), os.NewFile(uintptr(fds[1]), "theirs"), nil
}

// Conn makes a connection of one end, which it closes.
func Conn(end *os.File) (*net.UnixConn, error) {
	defer func() { _ = end.Close() }() // the connection has a copy
	conn, err := net.FileConn(end)
	if err != nil {
		return nil, err
	}
	c, ok := conn.(*net.UnixConn)
	if !ok {
		_ = conn.Close() // never a socket of ours
		return nil, fmt.Errorf("%s is no socket of this kind", end.Name())
	}
	return c, nil
}

// Send sends a small value with descriptors as one packet.
func Send(c *net.UnixConn, v any, files ...*os.File) error {
	text, err := json.Marshal(v)
	if err != nil {
		return err
	}
	if len(text) > mostPacket {
		return fmt.Errorf("a packet of %d bytes is too large", len(text))
	}
	_, _, err = c.WriteMsgUnix(text, rightsTo(files), nil)
	return err
}

// rightsTo is how descriptors travel.
func rightsTo(files []*os.File) []byte {
	if len(files) == 0 {
		return nil
	}
	fds := make([]int, len(files))
	for i, f := range files {
		fds[i] = int(f.Fd())
	}
	return unix.UnixRights(fds...)
}

// WriteWith sends a value as Write does, with descriptors. The socket has to be one that blocks.
func WriteWith(socket *os.File, v any, files ...*os.File) error {
	text, err := encode(v)
	if err != nil {
		return err
	}
	n, err := unix.SendmsgN(int(socket.Fd()), text, rightsTo(files), nil, unix.MSG_NOSIGNAL)
	if err == nil && n < len(text) { // the descriptors went with the first byte
		_, err = socket.Write(text[n:])
	}
	return err
}

// ReadWith receives a value that WriteWith sent, and its descriptors, which are the caller's to close.
func ReadWith(c *net.UnixConn, v any) ([]*os.File, error) {
	var head [4]byte
	rights := make([]byte, unix.CmsgSpace(4*mostFiles))
	n, m, flags, _, err := c.ReadMsgUnix(head[:], rights)
	if err != nil {
		return nil, err
	}
	files, err := descriptors(rights[:m])
	if err == nil && (flags&unix.MSG_CTRUNC != 0 || n == 0) {
		err = io.ErrUnexpectedEOF
	}
	if err == nil && n < len(head) {
		_, err = io.ReadFull(c, head[n:])
	}
	if err == nil {
		err = readBody(c, head, v)
	}
	if err != nil {
		Close(files...)
		return nil, err
	}
	return files, nil
}

// Receive returns a packet and its descriptors, which are the caller's to close.
func Receive(c *net.UnixConn, v any) ([]*os.File, error) {
	text, rights := make([]byte, mostPacket), make([]byte, unix.CmsgSpace(4*mostFiles))
	n, m, flags, _, err := c.ReadMsgUnix(text, rights)
	if err != nil {
		return nil, err
	}
	files, err := descriptors(rights[:m])
	if err == nil && flags&(unix.MSG_TRUNC|unix.MSG_CTRUNC) != 0 {
		err = fmt.Errorf("a packet was cut")
	}
	if err == nil {
		err = json.Unmarshal(text[:n], v)
	}
	if err != nil {
		Close(files...)
		return nil, err
	}
	return files, nil
}

// Close closes descriptors that nothing was written to.
func Close(files ...*os.File) {
	for _, f := range files {
		if f != nil {
			_ = f.Close() // nothing was written
		}
	}
}

func descriptors(rights []byte) ([]*os.File, error) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return nil, err
	}
	var files []*os.File
	for i := range messages {
		fds, err := unix.ParseUnixRights(&messages[i])
		if err != nil {
			return files, err
		}
		for _, fd := range fds {
			files = append(files, os.NewFile(uintptr(fd), "received"))
		}
	}
	return files, nil
}
