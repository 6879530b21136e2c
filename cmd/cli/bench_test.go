//go:build linux

package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/creack/pty"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/providers/providertest"
)

// These benchmarks time the real program from outside: `go test ./cmd/cli -run XXX -bench . -benchtime 30x`. Each
// runs in turn with what it is compared to, so that the ratios hold on a machine whose speed drifts.

// bench is a built program with a home of its own and a model that answers at once.
type bench struct {
	b      *testing.B
	exe    string
	links  string
	env    []string
	socket string
	model  *providertest.Server
	mu     sync.Mutex
	asked  int
}

func newBench(b *testing.B) *bench {
	b.Helper()
	dir, err := os.MkdirTemp("", "lb") //nolint:usetesting // a socket's path must be short
	if err != nil {
		b.Fatal(err)
	}
	x := &bench{
		b:      b,
		exe:    filepath.Join(dir, "loci"),
		links:  filepath.Join(dir, "links"),
		socket: filepath.Join(dir, "h", "run", "loci.sock"),
	}
	for out, pkg := range map[string]string{x.exe: "loci/cmd/loci", x.links: "./testdata/links"} {
		build := exec.CommandContext(b.Context(), "go", "build", "-trimpath", "-ldflags", "-s -w", "-o", out, pkg)
		build.Env = append(os.Environ(), "CGO_ENABLED=0")
		if text, err := build.CombinedOutput(); err != nil {
			b.Fatalf("build %s: %v\n%s", pkg, err, text)
		}
	}
	model := providertest.NewServer(b)
	x.model = model
	model.Reply = func(providertest.Request) providertest.Turn {
		x.mu.Lock()
		defer x.mu.Unlock()
		x.asked++
		return providertest.Turn{Text: "pong-" + strconv.Itoa(x.asked) + "."}
	}
	x.env = append(
		os.Environ(),
		"LOCI_HOME="+filepath.Join(dir, "h"),
		"OPENAI_API_KEY=sk-bench",
		"OPENAI_BASE_URL="+model.V1(),
		"OLLAMA_HOST=127.0.0.1:1",
		"TERM=xterm-256color",
	)
	b.Cleanup(func() {
		_ = x.command("daemon", "stop").Run()
		_ = os.RemoveAll(dir)
	})
	return x
}

func (x *bench) command(args ...string) *exec.Cmd {
	c := exec.CommandContext(context.WithoutCancel(x.b.Context()), x.exe, args...)
	c.Env = x.env
	return c
}

func (x *bench) run(c *exec.Cmd) time.Duration {
	x.b.Helper()
	c.Env = x.env
	begun := time.Now()
	if text, err := c.CombinedOutput(); err != nil {
		x.b.Fatalf("%v: %v\n%s", c.Args, err, text)
	}
	return time.Since(begun)
}

func median(ds []time.Duration) float64 {
	slices.Sort(ds)
	return float64(ds[len(ds)/2].Microseconds()) / 1000
}

// BenchmarkVersion compares `loci version` to a program that only links the same libraries.
func BenchmarkVersion(b *testing.B) {
	x := newBench(b)
	var ours, links []time.Duration
	for b.Loop() {
		ours = append(ours, x.run(x.command("version")))
		links = append(links, x.run(exec.CommandContext(b.Context(), x.links)))
	}
	b.ReportMetric(median(ours), "version-ms")
	b.ReportMetric(median(links), "links-ms")
	b.ReportMetric(median(ours)/median(links), "ratio")
}

// BenchmarkOneShot compares a whole `loci -p`, with the daemon already up, to a process start plus the bare HTTP
// call.
func BenchmarkOneShot(b *testing.B) {
	x := newBench(b)
	x.run(x.command("daemon", "start")) // with the key, which the bare call doesn't send
	x.run(x.command("-p", "hello"))
	agent := x.agent()
	var whole, bare []time.Duration
	for b.Loop() {
		whole = append(whole, x.run(x.command("-p", "hello")))
		bare = append(bare, x.run(x.command("version"))+x.post(agent))
	}
	b.ReportMetric(median(whole), "oneshot-ms")
	b.ReportMetric(median(bare), "start+http-ms")
	b.ReportMetric(median(whole)-median(bare), "more-ms")
}

// BenchmarkOneShotWithACall compares one shots whose model calls a tool once: a line in the sandbox, and an edit of memory.
func BenchmarkOneShotWithACall(b *testing.B) {
	x := newBench(b)
	x.model.Reply = x.model.Directives
	x.run(x.command("daemon", "start"))
	x.run(x.command("-p", "SAY hello"))
	folder := x.project()
	one := func(call string) time.Duration {
		c := x.command("-p", "--conversation", "new", "--permission-mode", "all", call+"\nSAY done")
		c.Dir = folder
		return x.run(c)
	}
	var shell, memory []time.Duration
	for n := 0; b.Loop(); n++ {
		shell = append(shell, one(`CALL shell {"command":"true"}`))
		memory = append(memory, one(fmt.Sprintf(`CALL memory_insert {"label":"human","new_string":"Likes tea %d."}`, n)))
	}
	b.ReportMetric(median(shell), "shell-ms")
	b.ReportMetric(median(memory), "memory-ms")
	b.ReportMetric(median(shell)/median(memory), "ratio")
}

func (x *bench) agent() string {
	out, err := x.command("agents", "list", "--json").Output()
	if err != nil {
		x.b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(out), `"agent-`)
	id, _, _ := strings.Cut(rest, `"`)
	return "agent-" + id
}

// post sends a message over the socket without using our client.
func (x *bench) post(agent string) time.Duration {
	x.b.Helper()
	var dialer net.Dialer
	transport := &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return dialer.DialContext(ctx, "unix", x.socket)
	}}
	defer transport.CloseIdleConnections()
	begun := time.Now()
	req, err := http.NewRequestWithContext(
		x.b.Context(),
		http.MethodPost,
		"http://loci/v1/agents/"+agent+"/messages",
		strings.NewReader(`{"messages":[{"role":"user","content":"hello"}]}`),
	)
	if err != nil {
		x.b.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/json")
	res, err := (&http.Client{Transport: transport}).Do(req)
	if err != nil {
		x.b.Fatal(err)
	}
	body, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || !bytes.Contains(body, []byte("pong-")) {
		x.b.Fatalf("answer %d %s %v", res.StatusCode, body, err)
	}
	return time.Since(begun)
}

// BenchmarkCancel cancels in the middle of a streamed answer (a word every 5 ms). It measures the time until the
// stream has ended, and the time until the cancel request is answered: by then, what was shown is on disk.
func BenchmarkCancel(b *testing.B) {
	x := newBench(b)
	x.model.Reply = func(providertest.Request) providertest.Turn {
		return providertest.Turn{Text: strings.Repeat("word ", 20_000), TokenDelay: 5 * time.Millisecond}
	}
	x.run(x.command("daemon", "start"))
	c := client.New(client.Options{Socket: x.socket})
	defer c.Close()
	agent, err := c.CreateAgent(b.Context(), api.CreateAgent{Name: new("cancelled"), Model: new("openai/test-model")})
	if err != nil {
		b.Fatal(err)
	}
	request := func() api.StreamingRequest {
		return api.StreamingRequest{Request: api.Request{Messages: []api.Input{api.UserInput("a story", client.NewOTID())}}}
	}
	var ended, answered []time.Duration
	for b.Loop() {
		var begun time.Time
		said := make(chan error, 1)
		words := 0
		for m, err := range c.Stream(b.Context(), client.Target{AgentID: agent.ID}, request()) {
			if err != nil {
				b.Fatal(err)
			}
			if m.MessageType != api.MessageAssistant {
				continue
			}
			if words++; words == 20 {
				begun = time.Now()
				go func() {
					_, err := c.Cancel(b.Context(), agent.ID)
					answered = append(answered, time.Since(begun)) // read after said
					said <- err
				}()
			}
		}
		ended = append(ended, time.Since(begun))
		if err := <-said; err != nil || words < 20 {
			b.Fatalf("%d words, %v", words, err)
		}
	}
	b.ReportMetric(median(ended), "end-ms")
	b.ReportMetric(median(answered), "answer-ms")
	b.ReportMetric(float64(slices.Max(ended).Microseconds())/1000, "max-ms")
}

// terminal is the chat on a pty.
type terminal struct {
	b    *testing.B
	cmd  *exec.Cmd
	file *os.File
	seen chan []byte
	text []byte
}

func (x *bench) chat() *terminal {
	x.b.Helper()
	c := x.command()
	f, err := pty.StartWithSize(c, &pty.Winsize{Rows: 24, Cols: 80})
	if err != nil {
		x.b.Fatal(err)
	}
	t := &terminal{b: x.b, cmd: c, file: f, seen: make(chan []byte, 1024)}
	go func() { // ends when the chat closes the pty
		defer close(t.seen)
		for {
			buf := make([]byte, 32<<10)
			n, err := f.Read(buf)
			if n > 0 {
				t.seen <- buf[:n]
			}
			if err != nil {
				return
			}
		}
	}()
	return t
}

// wait returns once the text has been painted in the output after the first from bytes.
func (t *terminal) wait(text string, from int) {
	t.b.Helper()
	deadline := time.NewTimer(20 * time.Second)
	defer deadline.Stop()
	for !bytes.Contains(t.text[from:], []byte(text)) {
		select {
		case piece, ok := <-t.seen:
			if !ok {
				t.b.Fatalf("the chat ended before it showed %q:\n%s", text, t.text)
			}
			t.text = append(t.text, piece...)
		case <-deadline.C:
			t.b.Fatalf("%q was never shown:\n%s", text, t.text)
		}
	}
}

func (t *terminal) quit() {
	_, _ = t.file.WriteString("\x04")
	_ = t.cmd.Wait()
	_ = t.file.Close()
	for range t.seen { // until the reader has finished
	}
}

// BenchmarkFirstPaint measures the time from the start of the chat to the prompt on the screen, with and without a
// running daemon.
func BenchmarkFirstPaint(b *testing.B) {
	for _, up := range []bool{true, false} {
		b.Run(fmt.Sprintf("daemon-up=%v", up), func(b *testing.B) {
			x := newBench(b)
			x.run(x.command("-p", "hello"))
			var paint []time.Duration
			for b.Loop() {
				if !up {
					x.run(x.command("daemon", "stop"))
				}
				begun := time.Now()
				t := x.chat()
				t.wait("›", 0)
				paint = append(paint, time.Since(begun))
				t.wait("test-model", 0) // connected, so that it can exit cleanly
				t.quit()
			}
			b.ReportMetric(median(paint), "first-paint-ms")
		})
	}
}

// BenchmarkChatTurn measures the time from Enter to the answer on the screen.
func BenchmarkChatTurn(b *testing.B) {
	x := newBench(b)
	t := x.chat()
	defer t.quit()
	t.wait("test-model", 0)
	var turns []time.Duration
	for b.Loop() {
		x.mu.Lock()
		want := "pong-" + strconv.Itoa(x.asked+1) + "."
		x.mu.Unlock()
		_, _ = t.file.WriteString("hi")
		from := len(t.text)
		begun := time.Now()
		_, _ = t.file.WriteString("\r")
		t.wait(want, from)
		turns = append(turns, time.Since(begun))
		t.wait("›", from)
	}
	b.ReportMetric(median(turns), "turn-ms")
}

// BenchmarkIdleMemory reports how much resident memory, in MB, a daemon with an empty home uses once it is ready.
func BenchmarkIdleMemory(b *testing.B) {
	x := newBench(b)
	var rss []float64
	for b.Loop() {
		x.run(x.command("daemon", "start"))
		pid := x.pid()
		settle := time.NewTimer(3 * time.Second)
		<-settle.C
		status, err := os.ReadFile("/proc/" + pid + "/status")
		if err != nil {
			b.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(status), "VmRSS:")
		kb, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
		if err != nil {
			b.Fatal(err)
		}
		rss = append(rss, kb/1024)
		x.run(x.command("daemon", "stop"))
	}
	slices.Sort(rss)
	b.ReportMetric(rss[len(rss)/2], "rss-MB")
}

func (x *bench) pid() string {
	out, err := x.command("daemon", "status", "--json").Output()
	if err != nil {
		x.b.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(out), `"pid": `)
	pid, _, _ := strings.Cut(rest, ",")
	return pid
}
