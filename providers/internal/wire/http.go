package wire

import (
	"context"
	"net"
	"net/http"
	"time"
)

// NewTransport returns the one transport that all providers share. It honours HTTP_PROXY, HTTPS_PROXY and NO_PROXY as
// every Go program does (loopback is never proxied). dial, if not nil, opens its connections. It has no overall or
// header timeout: Watch handles slow answers, since it knows when bytes last arrived.
func NewTransport(dial func(ctx context.Context, network, address string) (net.Conn, error)) *http.Transport {
	if dial == nil {
		dial = (&net.Dialer{Timeout: 10 * time.Second, KeepAlive: 30 * time.Second}).DialContext
	}
	return &http.Transport{
		Proxy:                  http.ProxyFromEnvironment,
		DialContext:            dial,
		ForceAttemptHTTP2:      true,
		TLSHandshakeTimeout:    10 * time.Second,
		ExpectContinueTimeout:  time.Second,
		MaxIdleConnsPerHost:    64,
		IdleConnTimeout:        90 * time.Second,
		MaxResponseHeaderBytes: 1 << 20,
	}
}

// NoRedirect refuses redirects: a request with a key goes only where it was sent.
func NoRedirect(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
