//go:build linux

package sandbox

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
)

// hello is a server of this machine, and its port.
func hello(t *testing.T) uint16 {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = io.WriteString(c, "hello\n")
			_ = c.Close()
		}
	}()
	return uint16(l.Addr().(*net.TCPAddr).Port) //nolint:forcetypeassert // it listens on TCP
}

func TestAJobReachesThePortsOfThisMachineThatAreOpenedAndNotTheDaemons(t *testing.T) {
	t.Parallel()
	l := local(t)
	open, ours := hello(t), hello(t)
	l.cfg.Ours = func() []uint16 { return []uint16{ours} }
	n := to()
	n.Local = []uint16{open, ours}
	line := "for p in %d %d %d; do (exec 3<>/dev/tcp/127.0.0.1/$p && timeout 5 cat <&3) || echo no $p; done"
	job := core.Job{
		Profile: core.JobShell, Argv: []string{"bash", "-c", "exec 2>/dev/null\n" + fmt.Sprintf(line, open, ours, hello(t))}, Network: n,
		Env: []string{path}, Project: &core.JobProject{Path: t.TempDir()},
	}
	r := run(t.Context(), t, l, job)
	got := string(r.Stdout.Kept)
	if strings.Count(got, "hello") != 1 || !strings.HasPrefix(got, "hello\n") || strings.Count(got, "no ") != 1 {
		t.Errorf("got %q", got)
	}
	if want := fmt.Sprintf("localhost:%d this port is Loci's own", ours); len(r.Refused) != 1 ||
		!strings.HasPrefix(r.Refused[0].Host+" "+r.Refused[0].Why, want) {
		t.Errorf("refused: %+v", r.Refused)
	}
}

// served is a job that listens, until it is stopped, and who was told of its ports.
type served struct {
	mu     sync.Mutex
	told   []string
	stop   context.CancelFunc
	ended  chan struct{}
	result core.JobResult
}

func serve(t *testing.T, l *Local, listens func(context.Context, uint16) bool, script string) *served {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	s := &served{stop: cancel, ended: make(chan struct{})}
	n := to()
	n.Listens = listens
	n.Opened = func(port uint16, err error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.told = append(s.told, fmt.Sprint(port, " ", err))
	}
	go func() {
		defer close(s.ended)
		s.result, _ = l.Run(ctx, core.Job{
			Profile: core.JobShell, Argv: []string{"python3", "-c", script}, Network: n, Env: []string{path},
			Project: &core.JobProject{Path: t.TempDir()},
		})
	}()
	t.Cleanup(func() { cancel(); <-s.ended })
	return s
}

func (s *served) said() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return strings.Join(s.told, "; ")
}

const echoing = `import socket, threading
s = socket.create_server(("%s", %d), family=socket.%s)
def answer(c):
    c.sendall(b"got " + c.recv(64)); c.close()
while True: threading.Thread(target=answer, args=(s.accept()[0],)).start()`

// ask says something to a port of this machine and returns the answer; empty: there is none.
func ask(t *testing.T, port int, say string) string {
	t.Helper()
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(3 * time.Second))
	_, _ = io.WriteString(conn, say)
	answer, _ := io.ReadAll(conn)
	return string(answer)
}

// vacant is a port of this machine on which nothing listens.
func vacant(t *testing.T) int {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	return l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
}

func TestThisMachineReachesPortsOfAJobThatAreOpenedUntilItEnds(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/python3")
	l := local(t)
	for _, tt := range []struct{ address, family string }{{"127.0.0.1", "AF_INET"}, {"::1", "AF_INET6"}, {"0.0.0.0", "AF_INET"}} {
		port := vacant(t)
		opens := func(_ context.Context, p uint16) bool { return int(p) == port }
		s := serve(t, l, opens, fmt.Sprintf(echoing, tt.address, port, tt.family))
		coretest.Until(t, tt.address, func() bool { return s.said() != "" })
		if s.said() != fmt.Sprintf("%d <nil>", port) {
			t.Errorf("%s: told %q", tt.address, s.said())
		}
		var work sync.WaitGroup
		for i := range 20 {
			work.Go(func() {
				if got := ask(t, port, fmt.Sprint("n", i)); got != fmt.Sprint("got n", i) {
					t.Errorf("%s: %q", tt.address, got)
				}
			})
		}
		work.Wait()
		s.stop()
		<-s.ended
		if got := ask(t, port, "x"); got != "" {
			t.Errorf("%s: it is open after the job: %q", tt.address, got)
		}
	}
}

func TestAPortThatIsTakenIsToldAndStaysWhoseItIs(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/python3")
	port := hello(t)
	s := serve(t, local(t), func(context.Context, uint16) bool { return true }, fmt.Sprintf(echoing, "127.0.0.1", port, "AF_INET"))
	coretest.Until(t, "the word of it", func() bool { return s.said() != "" })
	if s.said() != fmt.Sprintf("%d something else on this machine listens there", port) {
		t.Errorf("told %q", s.said())
	}
	if got := ask(t, int(port), "x"); got != "hello\n" {
		t.Errorf("it leads to %q", got)
	}
}

func TestPortsThatADaemonServesAreNoneOfTheJobs(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/python3")
	port := vacant(t)
	var mu sync.Mutex
	var asked []uint16
	s := serve(t, local(t), func(_ context.Context, p uint16) bool {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, p)
		return false
	}, fmt.Sprintf(echoing, "127.0.0.1", port, "AF_INET"))
	coretest.Until(t, "the question", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(asked) > 0
	})
	s.stop()
	<-s.ended
	if fmt.Sprint(asked) != fmt.Sprint([]int{port}) {
		t.Errorf("asked about %v, not %d", asked, port)
	}
}
