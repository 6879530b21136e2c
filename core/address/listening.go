package address

import (
	"bufio"
	"io"
	"strconv"
	"strings"
)

// mostSockets bounds how much is read of a list of sockets. Those that listen come first in it.
const mostSockets = 256 << 10

// Listening are the ports on which something listens, of a list of sockets as Linux writes it (/proc/net/tcp).
func Listening(list io.Reader) (ports []uint16) {
	const listens = "0A"
	for rows := bufio.NewScanner(io.LimitReader(list, mostSockets)); rows.Scan(); {
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
