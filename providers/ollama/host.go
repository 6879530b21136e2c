package ollama

import (
	"net"
	"net/url"
	"strings"

	"loci/core"
)

// DefaultHost is where Ollama listens unless told otherwise.
const DefaultHost = "http://127.0.0.1:11434"

// BaseURL parses an address in any form that OLLAMA_HOST may have: host, host:port, :port, an IPv6 address with or
// without brackets, each with or without scheme and path. An address that means "every interface" to a server means
// loopback to a client; a path's trailing /v1 or /api is removed. An explicit scheme without a port means that scheme's
// default port, as in Ollama.
func BaseURL(host string) (string, error) {
	host = strings.Trim(strings.TrimSpace(host), `"'`)
	if host == "" {
		return DefaultHost, nil
	}
	scheme, rest, explicit := strings.Cut(host, "://")
	scheme = strings.ToLower(scheme)
	if !explicit {
		scheme, rest = "http", host
	}
	bad := core.E(core.Invalid, "OLLAMA_HOST is not an address").WithHint("write it as host:port or http://host:port")
	if scheme != "http" && scheme != "https" {
		return "", bad
	}
	port := "11434"
	switch {
	case explicit && scheme == "http":
		port = "80"
	case explicit && scheme == "https":
		port = "443"
	}
	if at := strings.LastIndexByte(rest, '@'); at >= 0 && !strings.Contains(rest[:at], "/") {
		rest = rest[at+1:] // credentials have no use here and would leak into messages
	}
	hostport, path, _ := strings.Cut(rest, "/")
	name, given, err := net.SplitHostPort(hostport)
	if err != nil {
		name = strings.Trim(hostport, "[]")
	} else if given != "" {
		port = given
	}
	if ip := net.ParseIP(name); name == "" || ip != nil && ip.IsUnspecified() {
		name = "127.0.0.1"
		if ip != nil && ip.To4() == nil {
			name = "::1"
		}
	}
	if strings.ContainsFunc(name, notInNames) || strings.ContainsFunc(port, func(r rune) bool { return r < '0' || r > '9' }) {
		return "", bad
	}
	path = strings.TrimRight("/"+path, "/")
	for _, of := range []string{"/v1", "/api"} { // part of the wire spoken there, not of the server's address
		path = strings.TrimSuffix(path, of)
	}
	base, err := url.Parse(scheme + "://" + net.JoinHostPort(name, port) + path)
	if err != nil || base.RawQuery != "" || base.Fragment != "" || base.Host == "" {
		return "", bad
	}
	return base.String(), nil
}

// notInNames reports characters that no host name or IP address contains.
func notInNames(r rune) bool {
	return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && !strings.ContainsRune("-._:", r)
}
