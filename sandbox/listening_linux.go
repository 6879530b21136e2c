package sandbox

import (
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
)

// listening are the ports on which something listens in the network of a process, at an address from which it can be reached.
func listening(pid int) (ports []uint16) {
	for _, name := range []string{"tcp", "tcp6"} {
		text, err := os.ReadFile(fmt.Sprintf("/proc/%d/net/%s", pid, name))
		if err != nil {
			continue // it has ended, or there is no such protocol
		}
		for row := range strings.Lines(string(text)) {
			const listens = "0A"
			f := strings.Fields(row)
			if len(f) < 4 || f[3] != listens {
				continue
			}
			_, number, _ := strings.Cut(f[1], ":")
			port, err := strconv.ParseUint(number, 16, 16)
			if err == nil && port != 0 && !slices.Contains(ports, uint16(port)) {
				ports = append(ports, uint16(port))
			}
		}
	}
	return ports
}
