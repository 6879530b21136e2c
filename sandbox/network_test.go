//go:build linux

package sandbox

import (
	"context"
	"encoding/pem"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"loci/core"
)

// world is a network in which names lead where a test wants, and every dial to the servers of the test.
type world struct {
	t     *testing.T
	names map[string]string // addresses, with spaces between
	https *httptest.Server
	plain *httptest.Server
	ca    string // a file

	mu      sync.Mutex
	dialled []netip.AddrPort
}

const public = "93.184.216.34"

// newWorld has example.com, which serves what it is asked for.
func newWorld(t *testing.T) *world {
	t.Helper()
	w := &world{t: t, names: map[string]string{"example.com": public}}
	serve := http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		_, _ = fmt.Fprintf(out, "served %s to %s\n", r.URL.Path, r.Host)
	})
	w.https, w.plain = httptest.NewTLSServer(serve), httptest.NewServer(serve)
	t.Cleanup(w.https.Close)
	t.Cleanup(w.plain.Close)
	w.ca = filepath.Join(t.TempDir(), "ca.pem")
	text := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: w.https.Certificate().Raw})
	if err := os.WriteFile(w.ca, text, 0o644); err != nil {
		t.Fatal(err)
	}
	return w
}

func (w *world) Lookup(_ context.Context, host string) (found []netip.Addr, err error) {
	for _, a := range strings.Fields(w.names[host]) {
		found = append(found, netip.MustParseAddr(a))
	}
	if len(found) == 0 {
		return nil, errors.New("no such host")
	}
	return found, nil
}

func (w *world) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	w.mu.Lock()
	w.dialled = append(w.dialled, to)
	w.mu.Unlock()
	server := w.plain
	if to.Port() == 443 {
		server = w.https
	}
	var d net.Dialer
	return d.DialContext(ctx, "tcp", server.Listener.Addr().String())
}

func (w *world) Own() ([]netip.Addr, error) { return []netip.Addr{netip.MustParseAddr("8.8.4.4")}, nil }

// sandbox is one whose jobs are in this world.
func (w *world) sandbox() *Local {
	w.t.Helper()
	l := local(w.t)
	l.cfg.Outside = w
	return l
}

// to is a network of hosts that rules name.
func to(hosts ...string) *core.JobNetwork {
	return &core.JobNetwork{Allows: func(host string, named bool) bool {
		return slices.Contains(hosts, host) || !named && slices.ContainsFunc(hosts, func(h string) bool {
			suffix, star := strings.CutPrefix(h, "*")
			return star && strings.HasSuffix(host, suffix)
		})
	}}
}

// run runs a line with the world's certificate in all the variables that programs look for it.
func (w *world) run(l *Local, n *core.JobNetwork, line string) (string, core.JobResult) {
	w.t.Helper()
	job := core.Job{
		Profile: core.JobShell, Argv: []string{"bash", "-c", "exec 2>&1\n" + line}, Network: n,
		Env: []string{
			path, "HOME=" + core.SandboxHome, "SSL_CERT_FILE=/ca", "CURL_CA_BUNDLE=/ca", "NODE_EXTRA_CA_CERTS=/ca", "GIT_SSL_CAINFO=/ca",
		},
		Mounts: []core.JobMount{{Source: w.ca, Target: "/ca"}},
	}
	r := run(w.t.Context(), w.t, l, job)
	return string(r.Stdout.Kept), r
}

// needs skips a test where a program is not installed.
func needs(t *testing.T, program string) {
	t.Helper()
	if _, err := os.Stat(program); err != nil {
		t.Skip(program + " is not installed")
	}
}

func TestAnAllowedNameIsReachedWithNothingSetUp(t *testing.T) {
	t.Parallel()
	for name, try := range map[string]struct{ program, line string }{
		"curl":           {"/usr/bin/curl", `curl -sS https://example.com/a`},
		"curl, capitals": {"/usr/bin/curl", `curl -sS https://EXAMPLE.com./a`},
		"curl over HTTP": {"/usr/bin/curl", `curl -sS http://example.com/a`},
		"python": {"/usr/bin/python3", `/usr/bin/python3 -c '
import urllib.request; print(urllib.request.urlopen("https://example.com/a").read().decode())'`},
		"node":        {"/usr/bin/node", `node -e 'fetch("https://example.com/a").then(r => r.text()).then(console.log)'`},
		"getaddrinfo": {"/usr/bin/getent", `getent hosts example.com && echo served /a to example.com`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			needs(t, try.program)
			w := newWorld(t)
			out, r := w.run(w.sandbox(), to("example.com"), try.line)
			if !strings.Contains(strings.ToLower(out), "served /a to example.com") || r.ExitCode != 0 || len(r.Refused) > 0 {
				t.Errorf("%s %+v", out, r)
			}
		})
	}
}

func TestAnotherNameDoesNotExistAndIsTold(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl")
	w := newWorld(t)
	w.names["other.org"] = public
	out, r := w.run(w.sandbox(), to("example.com"),
		`curl -sS https://Other.org/; curl -sS https://other.org/; curl -sS http://sub.example.com/`)
	want := []core.JobRefusal{
		{Host: "other.org", Why: "no rule allows it", Rule: "other.org"},
		{Host: "sub.example.com", Why: "no rule allows it", Rule: "sub.example.com"},
	}
	if !strings.Contains(out, "Could not resolve host") || !slices.Equal(r.Refused, want) || len(w.dialled) > 0 {
		t.Errorf("%s %+v %v", out, r.Refused, w.dialled)
	}
}

func TestANameThatLeadsToAPrivateAddressIsRefusedUnlessThatIsAllowed(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl")
	for name, why := range map[string]string{
		"127.0.0.1": "of this machine itself", "169.254.169.254": "a cloud's metadata", "10.1.2.3": "of a private network",
		"::ffff:127.0.0.1": "of this machine itself", "64:ff9b::7f00:1": "stands for another one", "8.8.4.4": "of this machine itself",
		"192.168.0.1 ::1": "of this machine itself",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			w.names["example.com"] = name
			l := w.sandbox()
			out, r := w.run(l, to("example.com"), `curl -sS http://example.com/a`)
			if strings.Contains(out, "served") || len(r.Refused) != 1 || !strings.Contains(r.Refused[0].Why, why) || len(w.dialled) > 0 {
				t.Fatalf("%s %+v %v", out, r.Refused, w.dialled)
			}
			out, r = w.run(l, to("example.com", r.Refused[0].Rule), `curl -sS http://example.com/a`)
			if !strings.Contains(out, "served") || len(r.Refused) > 0 || len(w.dialled) != 1 {
				t.Errorf("%s %+v %v", out, r.Refused, w.dialled)
			}
		})
	}
}

func TestAConnectionThatOutlivesItsJobIsCut(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl")
	w := newWorld(t)
	came, cut := make(chan struct{}), make(chan struct{})
	w.plain.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		close(came)
		_ = http.NewResponseController(out).Flush()
		<-r.Context().Done()
		close(cut)
	})
	var done sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	l := w.sandbox()
	done.Go(func() {
		job := sh("curl -sS http://example.com/")
		job.Network = to("example.com")
		if r, err := l.Run(ctx, job); err != nil || r.Ended != core.JobCancelled {
			t.Errorf("%+v %v", r, err)
		}
	})
	<-came
	cancel()
	done.Wait()
	<-cut
}

func TestWithoutANetworkNothingIsThere(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	out, r := w.run(w.sandbox(), nil, `test -s /etc/resolv.conf && echo resolver; echo >/dev/tcp/127.0.0.1/443; echo end`)
	if !strings.Contains(out, "Connection refused") || !strings.HasSuffix(out, "end\n") || strings.Contains(out, "resolver") ||
		r.Refused != nil {
		t.Errorf("%s %+v", out, r)
	}
}

func TestWhatIsSaidToAHostHasToBeMeantForIt(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl")
	const forOther, noProtocol = "what was said to it was meant for another host", "is not that: "
	for name, try := range map[string]struct{ line, host, why string }{
		"another name in TLS":    {`curl -sSk --connect-to ::example.com: https://other.org/`, "other.org", "no rule allows it"},
		"no name in TLS":         {`curl -sSk https://$(getent hosts example.com | cut -d" " -f1)/`, "example.com", noProtocol},
		"no TLS":                 {`curl -sS http://example.com:443/`, "example.com", noProtocol},
		"another host in HTTP":   {`curl -sS -H "Host: allowed.org" http://example.com/`, "example.com", forOther},
		"two hosts in HTTP":      {say(`GET / HTTP/1.1\r\nHost: example.com\r\nHost: other.org\r\n\r\n`), "example.com", noProtocol},
		"another server in HTTP": {say(`GET http://other.org/ HTTP/1.1\r\nHost: example.com\r\n\r\n`), "example.com", noProtocol},
		"a tunnel":               {say(`CONNECT other.org:443 HTTP/1.1\r\nHost: example.com\r\n\r\n`), "example.com", noProtocol},
		"no HTTP":                {say(`EHLO you\r\n\r\n`), "example.com", noProtocol},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t)
			out, r := w.run(w.sandbox(), to("example.com", "allowed.org"), try.line)
			told := slices.ContainsFunc(r.Refused, func(f core.JobRefusal) bool {
				return f.Host == try.host && strings.Contains(f.Why, try.why)
			})
			if strings.Contains(out, "served") || !told || len(w.dialled) > 0 {
				t.Errorf("%s %+v %v", out, r.Refused, w.dialled)
			}
		})
	}
}

// say says something to port 80 of example.com and prints the answer.
func say(text string) string {
	return `exec 3<>/dev/tcp/example.com/80; printf '` + text + `' >&3; cat <&3`
}

func TestAnAddressIsNoWayOut(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl")
	w := newWorld(t)
	out, _ := w.run(w.sandbox(), to("*"), `
		for to in 93.184.216.34 127.0.0.1 127.9.0.1 127.9.255.255 169.254.169.254 [::1] [2606:4700::1111]; do
			curl -sS -m 5 http://$to/ && echo served
			curl -sSk -m 5 https://$to/ && echo served
		done; curl -sS -m 5 http://93.184.216.34:8080/ && echo served; echo end`)
	if strings.Contains(out, "served") || !strings.HasSuffix(out, "end\n") || len(w.dialled) > 0 {
		t.Errorf("%s %v", out, w.dialled)
	}
}

func TestThePortOfSSHIsOpenForHostsThatARuleNames(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.names["sub.example.com"] = public
	const line = `exec 3<>/dev/tcp/%s/22; printf 'GET /a HTTP/1.0\r\n\r\n' >&3; cat <&3`
	l := w.sandbox()
	if out, r := w.run(l, to("*.example.com", "example.com"), fmt.Sprintf(line, "example.com")); !strings.Contains(out, "served /a") {
		t.Errorf("%s %+v", out, r)
	}
	out, r := w.run(l, to("*.example.com", "example.com"), fmt.Sprintf(line, "sub.example.com"))
	if strings.Contains(out, "served") || len(r.Refused) != 1 || r.Refused[0].Rule != "sub.example.com" {
		t.Errorf("%s %+v", out, r)
	}
}

func TestAJobMayNotSendAndReceiveWithoutEnd(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/curl")
	w := newWorld(t)
	w.plain.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		for block := make([]byte, 64<<10); ; {
			if _, err := out.Write(block); err != nil {
				return
			}
		}
	})
	job := sh(`curl -sS http://example.com/ | wc -c; curl -sS http://example.com/ | wc -c`)
	job.Network, job.Limits.Traffic = to("example.com"), 3<<20
	r := run(t.Context(), t, w.sandbox(), job)
	sizes := strings.Fields(string(r.Stdout.Kept))
	if len(sizes) != 2 || len(sizes[0]) != 7 || sizes[1] != "0" || len(w.dialled) != 1 || r.Refused[0].Rule != "" {
		t.Errorf("%q %+v %v", r.Stdout.Kept, r.Refused, w.dialled)
	}
}
