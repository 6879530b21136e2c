package shell

import (
	"fmt"
	"os"
	"strings"
)

// listens reports whether some program of this machine listens on a port. Nothing is connected to.
func listens(port uint16) bool {
	local, listening := fmt.Sprintf(":%04X", port), "0A"
	for _, name := range []string{"/proc/net/tcp", "/proc/net/tcp6"} {
		text, err := os.ReadFile(name)
		if err != nil {
			continue // without this protocol
		}
		for row := range strings.Lines(string(text)) {
			if f := strings.Fields(row); len(f) > 3 && strings.HasSuffix(f[1], local) && f[3] == listening {
				return true
			}
		}
	}
	return false
}
