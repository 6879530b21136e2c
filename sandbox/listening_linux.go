package sandbox

import (
	"bufio"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// mostSockets bounds how much is read of the list of a job's sockets. Those that listen come first in it.
const mostSockets = 256 << 10

// listening are the ports on which something listens in the network of a process, at whichever of its addresses.
func listening(pid int) (ports []uint16) {
	for _, name := range []string{"tcp", "tcp6"} {
		file, err := os.Open(fmt.Sprintf("/proc/%d/net/%s", pid, name))
		if err != nil {
			continue // it has ended, or there is no such protocol
		}
		for _, port := range listeningIn(io.LimitReader(file, mostSockets)) {
			if !slices.Contains(ports, port) {
				ports = append(ports, port)
			}
		}
		_ = file.Close() // nothing was written
	}
	return ports
}

// listeningIn are the ports of a list of sockets, as the kernel writes it.
func listeningIn(list io.Reader) (ports []uint16) {
	const listens = "0A"
	for rows := bufio.NewScanner(list); rows.Scan(); {
		f := strings.Fields(rows.Text())
		if len(f) < 4 || f[3] != listens {
			continue
		}
		_, number, _ := strings.Cut(f[1], ":")
		if port, err := strconv.ParseUint(number, 16, 16); err == nil && port != 0 {
			ports = append(ports, uint16(port))
		}
	}
	return ports
}
