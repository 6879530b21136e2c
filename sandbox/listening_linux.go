package sandbox

import (
	"fmt"
	"os"
	"slices"

	"loci/core/address"
)

// listening are the ports on which something listens in the network of a process, at whichever of its addresses.
func listening(pid int) (ports []uint16) {
	for _, name := range []string{"tcp", "tcp6"} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, name))
		if err != nil {
			continue // it has ended, or there is no such protocol
		}
		for _, port := range address.Listening(file) {
			if !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
		_ = file.Close() // nothing was written
	}
	return ports
}
