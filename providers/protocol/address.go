package protocol

import (
	"net/url"
	"strings"

	"loci/core"
)

// Address checks an address from a variable. If it has no path, home is appended; if it ends in an operation, that is
// cut off.
func Address(variable, text, home string, operations ...string) (string, error) {
	bad := core.E(core.Invalid, "%s is not the address of a server", variable).WithHint("write it like http://127.0.0.1:8000%s", home)
	u, err := url.Parse(text)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return "", bad
	}
	if u.User != nil {
		return "", core.E(core.Invalid, "%s holds credentials", variable).WithHint("put the key into its own variable")
	}
	if u.RawQuery != "" || u.ForceQuery || u.Fragment != "" {
		u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = "", false, "", ""
		return "", core.E(core.Invalid, "%s has a part behind the path, which would be dropped", variable).
			WithHint("write it without, like %s; a version of Azure's is a setting of its own, providers.azure.api_version", u.String())
	}
	path := strings.TrimRight(u.Path, "/")
	for _, operation := range operations {
		path = strings.TrimSuffix(path, operation)
	}
	if path == "" {
		path = home
	}
	u.Path = path
	return u.String(), nil
}
