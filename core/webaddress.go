package core

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
)

// maxWebAddress bounds the address of a page, in bytes.
const maxWebAddress = 4096

// ParseWebAddress reads the address of a page, as a person or a model writes it. Its host is in small letters, and an address
// of the network in its one form, so that who is asked about it, and who connects to it, mean the same.
func ParseWebAddress(text string) (*url.URL, error) {
	text = strings.TrimSpace(text)
	if len(text) > maxWebAddress {
		return nil, E(Invalid, "the address has more than %d characters", maxWebAddress)
	}
	if !strings.Contains(text, "://") {
		text = "https://" + text
	}
	u, err := url.Parse(text)
	if err != nil {
		return nil, E(Invalid, "it is no address of a page: write it as https://example.com/page")
	}
	u.Scheme = strings.ToLower(u.Scheme)
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, E(Invalid, "only http and https can be fetched, not %q", u.Scheme)
	case u.User != nil:
		return nil, E(Invalid, "the address holds a name or a password, and such are not sent; leave them out")
	}
	host := strings.TrimSuffix(strings.ToLower(u.Hostname()), ".")
	if a, err := netip.ParseAddr(host); err == nil {
		host = a.Unmap().WithZone("").String()
	}
	if host == "" || strings.ContainsFunc(host, func(r rune) bool { return r <= ' ' || r > '~' || strings.ContainsRune(`%/\@`, r) }) {
		return nil, E(Invalid, "the address has no host that can be reached: write it in ASCII, as in https://xn--bcher-kva.example")
	}
	port := u.Port()
	if n, err := strconv.Atoi(port); port != "" && (err != nil || n < 1 || n > 65535 || n < 1024 && n != 80 && n != 443) {
		return nil, E(Invalid, "the port %q is none that pages are served on", port)
	}
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if u.Host = host; port != "" {
		u.Host += ":" + port
	}
	u.Fragment, u.RawFragment = "", ""
	return u, nil
}
