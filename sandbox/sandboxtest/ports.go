package sandboxtest

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"loci/core"
)

// opened is a job to which a person opened a port of the machine, and not that of the canary.
func opened(j *core.Job) {
	reaching(j)
	j.Network.Local = []uint16{canaryPort(j) ^ 1}
}

// openedWide is one to which they opened the canary's.
func openedWide(j *core.Job) { j.Network.Local = []uint16{canaryPort(j)} }

// canaryPort is the port of the canary on loopback.
func canaryPort(j *core.Job) uint16 {
	for _, v := range j.Env {
		if text, is := strings.CutPrefix(v, "PORT="); is {
			if port, err := strconv.ParseUint(text, 10, 16); err == nil {
				return uint16(port)
			}
		}
	}
	return 1
}

// shutPort is a job that listens on a port which nobody opened to the machine.
func shutPort(j *core.Job) {
	reaching(j)
	j.Network.Listens, j.Network.Opened = func(context.Context, uint16) bool { return false }, func(uint16, error) {}
}

// openPort is one whose ports are.
func openPort(j *core.Job) { j.Network.Listens = func(context.Context, uint16) bool { return true } }

// enter connects to the port that a job has noted in its project, as long as it may take until it is open.
func enter(project string) {
	for end := time.Now().Add(4 * time.Second); time.Now().Before(end); <-time.After(50 * time.Millisecond) {
		text, err := os.ReadFile(filepath.Join(project, "port"))
		if err != nil {
			return
		}
		conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(context.Background(), "tcp", "127.0.0.1:"+string(text))
		if err != nil {
			continue
		}
		_, _ = conn.Write([]byte("canary")) // it may be closed again
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, err = conn.Read(make([]byte, 1))
		_ = conn.Close() // all was said
		if err == nil {
			return // it was taken in
		}
	}
}

// serving listens on a port of its own, says so, and reports whether somebody came in.
func serving(family, address string) []string {
	return py(fmt.Sprintf(`import random
s = socket.socket(socket.%s)
while True:
    port = random.randrange(20000, 30000)
    try: s.bind(("%s", port)); break
    except OSError: pass
s.listen(); s.settimeout(5)
open("port", "w").write(str(port))
print("READY", flush=True)
try:
    c, _ = s.accept()
    if c.recv(6) == b"canary": c.sendall(b"x"); print("ESCAPED")
except OSError: pass
`, family, address))
}

// ports are attempts of jobs to which ports were opened, or not.
func ports() []Attempt {
	const class = "network"
	reach := func(body string) []string {
		return py(`def reach(family, address, port):
    try:
        s = socket.socket(family); s.settimeout(3); s.connect((address, port))
        if b"canary" in s.recv(64): print("ESCAPED")
    except OSError: pass
port = int(env["PORT"])
` + body)
	}
	return []Attempt{
		{
			Class: class, Name: "another port than the one that was opened", Job: opened, Free: openedWide,
			Argv: reach(`reach(socket.AF_INET, "127.0.0.1", port)`),
		},
		{
			Class: class, Name: "another port through the one that was opened", Job: opened, Free: openedWide,
			Argv: reach(`reach(socket.AF_INET, "127.0.0.1", port)
for host in ("127.0.0.1", "localhost"):
    try:
        s = socket.create_connection((host, port ^ 1), 3)
        s.sendall(f"CONNECT 127.0.0.1:{port} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode())
        if b"canary" in s.recv(64): print("ESCAPED")
    except OSError: pass`),
		},
		{
			Class: "sockets", Name: "a port that nobody opened to the machine", Job: shutPort, Free: openPort, Meanwhile: enter,
			Argv: serving("AF_INET", "127.0.0.1"),
		},
		{
			Class: "sockets", Name: "a port at every address that nobody opened", Job: shutPort, Free: openPort, Meanwhile: enter,
			Argv: serving("AF_INET", "0.0.0.0"),
		},
		{
			Class: "sockets", Name: "a port of the newer protocol that nobody opened", Job: shutPort, Free: openPort, Meanwhile: enter,
			Argv: serving("AF_INET6", "::"),
		},
	}
}
