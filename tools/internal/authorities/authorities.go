// Package authorities tells programs in a sandbox whom this machine trusts. Node, pip and Python's requests bring lists of their own, in
// which the authority that a company's network adds is missing: there every request of theirs would fail.
package authorities

import (
	"os"
	"slices"
)

// files is where systems keep the certificates of the authorities that they trust, one for each kind of system.
var files = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/certs/ca-bundle.crt"}

// File is the one of this machine, which every sandbox has; empty: it has none.
func File() string {
	i := slices.IndexFunc(files, func(path string) bool {
		info, err := os.Stat(path)
		return err == nil && info.Mode().IsRegular()
	})
	if i < 0 {
		return ""
	}
	return files[i]
}

// Env is the variables, as NAME=value, by which programs find it.
func Env() []string {
	file := File()
	if file == "" {
		return nil
	}
	var env []string
	for _, name := range []string{"NODE_EXTRA_CA_CERTS", "PIP_CERT", "REQUESTS_CA_BUNDLE", "SSL_CERT_FILE"} {
		env = append(env, name+"="+file)
	}
	return env
}
