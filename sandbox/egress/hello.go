package egress

import (
	"bufio"
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"loci/core"
)

// The bounds of what a program says first.
const (
	mostHello = 64 << 10
	helloTime = 15 * time.Second
)

// hiddenName is the extension of TLS in which the true name of the server is encrypted.
const hiddenName = 0xfe0d

// hear reads what a program says first, if that names a host, and compares it with the name that the program asked for. What
// was read is returned, to be passed on.
func (e *Egress) hear(from net.Conn, host string, port uint16) (said []byte, err error) {
	if port != portHTTPS && port != portHTTP {
		return nil, nil
	}
	if err := from.SetReadDeadline(time.Now().Add(helloTime)); err != nil {
		return nil, err
	}
	var heard bytes.Buffer
	words := io.TeeReader(io.LimitReader(from, mostHello), &heard)
	var name string
	protocol := "HTTP"
	if port == portHTTPS {
		protocol = "TLS"
		name, err = tlsName(e.ctx, words)
	} else {
		name, err = httpName(words)
	}
	switch {
	case heard.Len() == 0: // it has said nothing, and needs no explanation
		return nil, errSilent
	case err != nil:
		return nil, unreached{why: "what was said on its port for " + protocol + " is not that: " + err.Error()}
	}
	if name, ok := hostname(name); !ok || name != host {
		if ok && !e.cfg.Allows(name, false) {
			e.refuse(core.JobRefusal{Host: name, Why: noRule, Rule: name})
		}
		return nil, unreached{why: "what was said to it was meant for another host"}
	}
	return heard.Bytes(), from.SetReadDeadline(time.Time{})
}

var (
	errSilent = errors.New("it said nothing")
	errHeard  = errors.New("the name was heard")
)

// tlsName returns the server's name from the first message of TLS.
func tlsName(ctx context.Context, r io.Reader) (name string, err error) {
	var hello *tls.ClientHelloInfo
	// Nothing is ever agreed on here: it ends with the first message, which says for whom it is.
	server := tls.Server(listener{Reader: r}, &tls.Config{GetConfigForClient: func(h *tls.ClientHelloInfo) (*tls.Config, error) {
		hello = h
		return nil, errHeard
	}})
	err = server.HandshakeContext(ctx)
	switch {
	case hello == nil:
		return "", err
	case hello.ServerName == "":
		return "", errors.New("it names no server")
	case slices.Contains(hello.Extensions, hiddenName):
		return "", errors.New("it hides which server it is for (ECH)")
	}
	return hello.ServerName, nil
}

// listener is a connection that only reads.
type listener struct {
	net.Conn
	io.Reader
}

func (l listener) Read(p []byte) (int, error) { return l.Reader.Read(p) }

// Write swallows what TLS would answer.
func (listener) Write(p []byte) (int, error) { return len(p), nil }

// Close implements net.Conn; the connection belongs to someone else.
func (listener) Close() error { return nil }

// SetWriteDeadline implements net.Conn.
func (listener) SetWriteDeadline(time.Time) error { return nil }

// httpName returns the host from the head of a request.
func httpName(r io.Reader) (string, error) {
	t := textproto.NewReader(bufio.NewReader(r))
	line, err := t.ReadLine()
	if err != nil {
		return "", errors.New("a request is missing")
	}
	words := strings.Split(line, " ")
	if len(words) != 3 || !strings.HasPrefix(words[1], "/") && words[1] != "*" || !strings.HasPrefix(words[2], "HTTP/1.") {
		return "", errors.New("its first line is no request to a server")
	}
	head, err := t.ReadMIMEHeader()
	if err != nil {
		return "", errors.New("its head can't be read")
	}
	if hosts := head["Host"]; len(hosts) != 1 {
		return "", errors.New("it names no host, or several")
	}
	return strings.TrimSuffix(head.Get("Host"), ":80"), nil
}
