// Package remote fetches what a message names by its address on the public internet, images, and dials for those that speak to servers
// there.
//
// Promises: the address that is dialled is judged, after resolving and at each redirect, so that no message reads from this
// machine or its network unless a person let it; no key, cookie or proxy of the person's is used; size and time are bounded.
package remote

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"time"

	"loci/core"
	"loci/core/address"
)

// Bounds of one fetch.
const (
	within        = 20 * time.Second
	dialTime      = 5 * time.Second
	mostRedirects = 5
	maxAddress    = 4096 // characters
)

// Fetcher fetches. It is safe for concurrent use.
type Fetcher struct{ client *http.Client }

var _ core.ImageFetcher = (*Fetcher)(nil)

// New returns a fetcher of what judge lets it dial; nil: the public internet.
func New(judge func(netip.Addr) error) *Fetcher {
	if judge == nil {
		judge = public
	}
	d := dialer{judge: judge}
	return &Fetcher{client: &http.Client{
		Timeout:   within,
		Transport: &http.Transport{DialContext: d.dial, DisableKeepAlives: true, ResponseHeaderTimeout: within, ForceAttemptHTTP2: true},
		CheckRedirect: func(r *http.Request, via []*http.Request) error {
			if len(via) > mostRedirects {
				return core.E(core.Invalid, "it redirects more than %d times", mostRedirects)
			}
			return checkURL(r.URL)
		},
	}}
}

// public judges addresses, those of this machine among them.
func public(a netip.Addr) error {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return core.E(core.Unavailable, "the addresses of this machine can't be known: %w", err)
	}
	var own []netip.Addr
	for _, i := range all {
		if p, err := netip.ParsePrefix(i.String()); err == nil {
			own = append(own, p.Addr())
		}
	}
	return address.Public(a, own)
}

// Dial returns what connects to hosts of the public internet; with private, also to those of this machine and its network.
func Dial(private bool) func(ctx context.Context, network, to string) (net.Conn, error) {
	d := dialer{judge: public}
	if private {
		d.judge = func(netip.Addr) error { return nil }
	}
	return d.dial
}

type dialer struct{ judge func(netip.Addr) error }

// dial connects to exactly the address that was judged.
func (d dialer) dial(ctx context.Context, network, to string) (net.Conn, error) {
	host, port, err := net.SplitHostPort(to)
	if err != nil {
		return nil, err
	}
	found, err := net.DefaultResolver.LookupNetIP(ctx, "ip", host)
	if err != nil {
		return nil, err
	}
	failed := error(core.E(core.Unavailable, "the name %s has no address", host))
	for _, a := range found {
		a = a.Unmap()
		if err := d.judge(a); err != nil {
			return nil, err
		}
		plain := net.Dialer{Timeout: dialTime}
		conn, err := plain.DialContext(ctx, network, net.JoinHostPort(a.String(), port))
		if err == nil {
			return conn, nil
		}
		failed = err
	}
	return nil, failed
}

func checkURL(u *url.URL) error {
	if u.Scheme != "https" && u.Scheme != "http" || u.Hostname() == "" || u.User != nil {
		return core.E(core.Invalid, "the address of an image begins with https:// or http://, and names no user")
	}
	return nil
}

// Fetch implements core.ImageFetcher.
func (f *Fetcher) Fetch(ctx context.Context, text string) ([]byte, error) {
	u, err := url.Parse(text)
	if err != nil || len(text) > maxAddress {
		return nil, core.E(core.Invalid, "the address of the image is no URL")
	}
	if err := checkURL(u); err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, u.String(), nil)
	if err != nil {
		return nil, core.E(core.Invalid, "the address of the image is no URL")
	}
	req.Header.Set("User-Agent", "loci")
	req.Header.Set("Accept", "image/png, image/jpeg, image/webp, image/gif")
	resp, err := f.client.Do(req)
	if err != nil {
		return nil, unreached(ctx, u, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was only read from
	if resp.StatusCode != http.StatusOK {
		return nil, core.E(core.Invalid, "%s answered %d instead of an image", u.Host, resp.StatusCode).
			WithHint("send the bytes of the image")
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, core.MaxImageBytes+1))
	if err != nil {
		return nil, unreached(ctx, u, err)
	}
	if len(data) > core.MaxImageBytes {
		return nil, core.E(core.TooLarge, "the image at %s has more than %d MB", u.Host, core.MaxImageBytes>>20)
	}
	return data, nil
}

// unreached says why nothing was fetched.
func unreached(ctx context.Context, u *url.URL, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	var ours *core.Error
	if errors.As(err, &ours) {
		return core.E(ours.Kind, "the image at %s is not fetched: %s", u.Host, ours.Error()).WithHint("send the bytes of the image")
	}
	return core.E(core.Invalid, "the image at %s cannot be fetched: %w", u.Host, err).WithHint("send the bytes of the image")
}
