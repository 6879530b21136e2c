//go:build unix

package cli

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/daemon/config"
)

// countedSocket puts a proxy in front of a daemon's socket. It returns the proxy's path and a function that lists
// the requests made through it.
func countedSocket(t *testing.T, socket string) (front string, asked func() []string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "loci") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	front = filepath.Join(dir, "s")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", front)
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var seen []string
	var dialer net.Dialer
	proxy := &httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.Out.URL.Scheme, r.Out.URL.Host = "http", "loci"
			mu.Lock()
			defer mu.Unlock()
			seen = append(seen, r.In.Method+" "+r.In.URL.Path)
		},
		Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, "unix", socket)
		}},
		FlushInterval: -1,
	}
	server := &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		// A proxy that still reads the request when the answer begins may cut the answer off.
		whole, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadGateway)
			return
		}
		r.Body = io.NopCloser(bytes.NewReader(whole))
		proxy.ServeHTTP(w, r)
	})}
	var served sync.WaitGroup
	served.Go(func() { _ = server.Serve(l) })
	t.Cleanup(func() {
		_ = server.Close()
		served.Wait()
		_ = os.RemoveAll(dir)
	})
	return front, func() []string {
		mu.Lock()
		defer mu.Unlock()
		out := seen
		seen = nil
		return out
	}
}

func TestAOneShotMakesTwoRequests(t *testing.T) {
	t.Parallel()
	env := homeEnv(t)
	exe := build(t)
	running := exec.CommandContext(t.Context(), exe, "daemon", "run")
	running.Env = env
	if err := running.Start(); err != nil {
		t.Fatal(err)
	}
	awaitReady(t, exe, env)
	p, err := config.FindPaths(func(name string) (string, bool) {
		for _, v := range env {
			if value, ok := strings.CutPrefix(v, name+"="); ok {
				return value, true
			}
		}
		return "", false
	})
	if err != nil {
		t.Fatal(err)
	}
	var asked func() []string
	p.Socket, asked = countedSocket(t, p.Socket)
	for _, prompt := range []string{"My name is Ada", "What is my name?", strings.Repeat("a long prompt ", 1000)} {
		var out, errOut bytes.Buffer
		a := &app{in: strings.NewReader(""), out: &out, errOut: &errOut, places: &p, noStart: true}
		if err := a.oneShot(t.Context(), &chatFlags{print: true, format: formatText}, []string{prompt}); err != nil {
			t.Fatal(err)
		}
		if said := errOut.String(); strings.Count(said, " asks offline/loci\n") != 1 || out.Len() < 2 {
			t.Errorf("it answers %q and says %q", out.String(), said)
		}
		got := asked()
		if len(got) == 2 {
			got[1] = got[1][:strings.LastIndexByte(got[1], '/')+1]
			got[1] = strings.Replace(got[1], "conversations", "agents", 1)
		}
		if len(got) != 2 || cmp.Diff("POST /loci/v1/clients", got[0]) != "" || !strings.HasPrefix(got[1], "POST /v1/agents/") {
			t.Errorf("requests: %q", got)
		}
	}
	if err := running.Process.Signal(syscall.SIGTERM); err != nil {
		t.Error(err)
	}
	if err := running.Wait(); err != nil {
		t.Error(err)
	}
}
