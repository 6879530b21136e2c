//go:build linux

package python_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/sandbox"
	"loci/sandbox/sandboxtest"
	"loci/sandbox/stage"
	"loci/tools/custom/pysource"
	"loci/tools/custom/python"
	"loci/tools/custom/run"
)

// TestMain lets the tests' own program be launcher and first process of sandboxes, as the daemon's is.
func TestMain(m *testing.M) {
	if code, ours := stage.Main(os.Args); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// counted is a sandbox that knows how many jobs were started in it.
type counted struct {
	core.Sandbox
	mu   sync.Mutex
	jobs int
}

func (c *counted) Run(ctx context.Context, job core.Job) (core.JobResult, error) {
	c.mu.Lock()
	c.jobs++
	c.mu.Unlock()
	return c.Sandbox.Run(ctx, job)
}

func (c *counted) started() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.jobs
}

// bench is a runner on this machine's sandbox.
type bench struct {
	testing.TB
	runner *run.Runner
	box    *counted
}

func open(tb testing.TB) *bench {
	tb.Helper()
	box := sandbox.New(sandbox.Config{
		Mode: sandbox.Full, Scratch: filepath.Join(tb.TempDir(), "jobs"), Outside: sandboxtest.Network{},
	})
	tb.Cleanup(box.Close)
	if r := box.Probe(tb.Context()); r.Level != sandbox.LevelFull {
		tb.Skip("this machine cannot confine programs: " + r.Detail)
	}
	b := &bench{TB: tb, box: &counted{Sandbox: box}}
	b.runner = run.New(run.Config{Sandbox: b.box, Start: python.Interpreter(os.Getenv("PATH"))})
	tb.Cleanup(b.runner.Close)
	return b
}

// call makes a call of the function of a source.
func (b *bench) call(source string, change ...func(*run.Call)) run.Call {
	b.Helper()
	head, err := pysource.Head([]byte(source), "")
	if err != nil {
		b.Fatal(err)
	}
	c := run.Call{
		Tool: head.Name, Source: source, Function: head.Name, Positional: head.Function.Positional(), Self: head.Function.Self,
		Arguments: map[string]any{}, Time: time.Minute,
	}
	for _, f := range change {
		f(&c)
	}
	return c
}

func (b *bench) run(source string, change ...func(*run.Call)) run.Outcome {
	b.Helper()
	out, err := b.runner.Run(b.Context(), b.call(source, change...))
	if _, missing := os.Stat("/usr/bin/python3"); missing != nil && core.KindOf(err) == core.Unsupported {
		b.Skip(err)
	}
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func with(args map[string]any) func(*run.Call) {
	return func(c *run.Call) { c.Arguments = args }
}

func TestWhatAFunctionReturnsIsText(t *testing.T) {
	t.Parallel()
	b := open(t)
	for name, tt := range map[string]struct{ source, want, note string }{
		"text":              {"def f():\n return 'a\\nb'", "a\nb", ""},
		"nothing":           {"def f():\n pass", "None", ""},
		"a number":          {"def f():\n return 3.5", "3.5", ""},
		"a truth":           {"def f():\n return True", "True", ""},
		"an object":         {"def f():\n return {'ä': [1, None, True]}", `{"ä": [1, null, true]}`, ""},
		"a tuple":           {"def f():\n return 1, 'x'", `[1, "x"]`, ""},
		"awaited":           {"async def f():\n return 'later'", "later", ""},
		"a set":             {"def f():\n return {7}", "{7}", "JSON can't hold a value of type set"},
		"a date inside":     {"import datetime\ndef f():\n return {'d': datetime.date(2026, 1, 2)}", `{"d": "2026-01-02"}`, "of type date"},
		"a dataclass":       {"import dataclasses\n@dataclasses.dataclass\nclass A:\n  x: int\ndef f():\n return A(3)", `{"x": 3}`, ""},
		"itself":            {"def f():\n a = []\n a.append(a)\n return a", "[[...]]", "of type list"},
		"no number":         {"def f():\n return [float('nan')]", "[nan]", "of type list"},
		"half a character":  {"def f():\n return '\\ud800x'", "\ufffdx", ""},
		"much":              {"def f():\n return 'x' * 3_000_000", strings.Repeat("x", 1_000_000), "3000000 characters"},
		"much in Finnish":   {"def f():\n return 'ä' * 3_000_000", strings.Repeat("ä", 1_000_000), "3000000 characters"},
		"an unpicklable":    {"def f():\n return (lambda: 1).__class__.__name__", "function", ""},
		"what it is not":    {"class A:\n  def __str__(self): return 'an A'\ndef f():\n return A()", "an A", "of type A"},
		"a helper's result": {"def _help():\n return 5\ndef f():\n return _help()", "5", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := (&bench{t, b.runner, b.box}).run(tt.source)
			if out.Text != tt.want || out.Class != "" || !strings.Contains(out.Note, tt.note) || (tt.note == "") != (out.Note == "") {
				t.Errorf("it is %.200q (%s), note %q", out.Text, out.Class, out.Note)
			}
		})
	}
}

func TestArgumentsArriveAsTheirAnnotationsSay(t *testing.T) {
	t.Parallel()
	b := open(t)
	const source = `
import enum, dataclasses
from typing import Optional
class Color(enum.Enum):
    RED = "red"
@dataclasses.dataclass
class Point:
    x: int
def f(self, a: int, /, b: float, c: set, d: Color, e: Point, g: Optional[list[Point]] = None, *, h: str = "h"):
    return [type(v).__name__ for v in (a, b, c, d, e)] + [g[0].x, h]
`
	out := b.run(source, with(map[string]any{
		"a": 1, "b": 2, "c": []int{1}, "d": "red", "e": map[string]any{"x": 1}, "g": []any{map[string]any{"x": 7}},
	}))
	if want := `["int", "float", "set", "Color", "Point", 7, "h"]`; out.Text != want {
		t.Errorf("%+v", out)
	}
}

func TestAFailureIsToldByItsClassAndTheTracebackIsOfTheToolAlone(t *testing.T) {
	t.Parallel()
	b := open(t)
	for name, tt := range map[string]struct{ source, class, text, stderr string }{
		"an exception":  {"def f():\n raise ValueError('no luck')", "ValueError", "no luck", `File "f.py", line 2, in f`},
		"at the module": {"import nothing_like_it\ndef f():\n pass", "ModuleNotFoundError", "nothing_like_it", "line 1"},
		"no argument":   {"def f(a):\n pass", "TypeError", "missing 1 required positional argument", ""},
		"an exit":       {"import sys\ndef f():\n sys.exit(0)", "SystemExit", "0", ""},
		"an end":        {"import os\ndef f():\n os._exit(0)", "RuntimeError", "without returning", ""},
		"a bad end":     {"import os\ndef f():\n os._exit(3)", "RuntimeError", "the code 3", ""},
		"a signal":      {"import os\ndef f():\n os.kill(os.getpid(), 9)", "RuntimeError", "SIGKILL", ""},
		"much memory":   {"def f():\n return len(bytearray(2 << 30))", "MemoryError", "", ""},
		"no text":       {"class E(Exception):\n  def __str__(self): raise E\ndef f():\n raise E", "E", "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := (&bench{t, b.runner, b.box}).run(tt.source)
			if out.Class != tt.class || !strings.Contains(out.Text, tt.text) || !strings.Contains(out.Stderr, tt.stderr) {
				t.Errorf("%+v", out)
			}
			if strings.Contains(out.Stderr, "<string>") {
				t.Errorf("the runner shows itself: %s", out.Stderr)
			}
		})
	}
}

func TestWhatIsPrintedIsKeptApartAndNeverAResult(t *testing.T) {
	t.Parallel()
	b := open(t)
	out := b.run("import sys\ndef f():\n print('{\"text\": \"forged\"}')\n sys.stderr.write('\\x1b[31mred\\n')\n return 'true'")
	if out.Text != "true" || out.Stdout != `{"text": "forged"}` || out.Stderr != "red" {
		t.Errorf("%+v", out)
	}
	for name, source := range map[string]string{
		"a frame of its own before": "import os\ndef f():\n" +
			" os.write(100, b'\\0\\0\\0\\x11{\"text\":\"forged\"}')\n return 'true'",
		"through a child": "import os, subprocess\ndef f():\n" +
			" r = subprocess.run(['sh', '-c', 'echo forged >/proc/%d/fd/100' % os.getpid()], capture_output=True)\n" +
			" return r.returncode != 0",
		"a fork that returns": "import os, time\ndef f():\n if os.fork(): time.sleep(.2)\n return 'one of two'",
	} {
		out := b.run(source)
		if strings.Contains(out.Text, "forged") || name == "through a child" && out.Text != "True" ||
			name == "a fork that returns" && out.Text != "one of two" {
			t.Errorf("%s: %+v", name, out)
		}
	}
	flood := b.run("def f():\n print('x' * 300_000)\n return 'done'")
	if flood.Text != "done" || len(flood.Stdout) > 70_000 || !strings.Contains(flood.Stdout, "of 300001 bytes are left out") {
		t.Errorf("%d bytes are kept: %s", len(flood.Stdout), flood.Stdout[max(0, len(flood.Stdout)-80):])
	}
}

func TestACallIsStoppedWhenItsTimeIsOverOrNobodyWaits(t *testing.T) {
	t.Parallel()
	b := open(t)
	const forever = "def f():\n print('begun')\n while True: pass"
	out := b.run(forever, func(c *run.Call) { c.Time = time.Second })
	if out.Class != "TimeoutError" || !strings.Contains(out.Text, "timed out: it was stopped after 1s") || out.Stdout != "begun" {
		t.Errorf("%+v", out)
	}
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("nobody waits"))
	if out, err := b.runner.Run(ctx, b.call(forever)); err != nil || out.Class == "" {
		t.Errorf("%+v %v", out, err)
	}
}

func TestNothingOfACallIsLeftForTheNext(t *testing.T) {
	t.Parallel()
	b := open(t)
	const source = `
import builtins, os
def f():
    seen = [getattr(builtins, "left", None), os.path.exists("/tmp/left"), os.path.exists("/work/left"), os.environ.get("LEFT")]
    builtins.left = 1
    for name in ("/tmp/left", "/work/left"):
        open(name, "w").close()
    return seen
`
	for range 3 {
		out := b.run(source)
		if out.Text != "[null, false, false, null]" {
			t.Errorf("%+v", out)
		}
	}
	out := b.run("import os\ndef f():\n return os.environ['LEFT']", func(c *run.Call) { c.Env = []string{"LEFT=a=b"} })
	if out.Text != "a=b" {
		t.Errorf("%+v", out)
	}
}

func TestTheNextCallFindsAnInterpreterThatWaits(t *testing.T) {
	t.Parallel()
	b := open(t)
	const source = "import time\ndef f():\n return time.time()"
	b.run(source)
	coretest.Until(t, "an interpreter waits", func() bool { return b.box.started() == 2 }) // one more than was needed
	b.run(source)
	coretest.Until(t, "the next one waits", func() bool { return b.box.started() == 3 })
}

func TestAHostIsRefusedUntilARuleAllowsIt(t *testing.T) {
	t.Parallel()
	b := open(t)
	page := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "the page") }))
	t.Cleanup(page.Close)
	_, port, _ := strings.Cut(page.Listener.Addr().String(), ":")
	host := "public" + port + ".example" // of the network outside that the sandbox is given
	const source = "import urllib.request\ndef f(host: str):\n return urllib.request.urlopen('http://' + host).read().decode()"
	args := with(map[string]any{"host": host})
	out := b.run(source, args)
	if out.Class != "URLError" || len(out.Refused) == 0 || out.Refused[0].Rule != host {
		t.Errorf("%+v", out)
	}
	out = b.run(source, args, func(c *run.Call) { c.Hosts = rules{host} })
	if out.Class != "" || out.Text != "the page" {
		t.Errorf("%+v", out)
	}
}

func TestWhyAHostIsRefusedIsToldWhereNobodyIsAsked(t *testing.T) {
	t.Parallel()
	b := open(t)
	const source = "import socket\ndef f(host: str, port: int):\n s = socket.create_connection((host, port))\n" +
		" s.sendall(f'GET / HTTP/1.1\\r\\nHost: {host}\\r\\n\\r\\n'.encode())\n return len(s.recv(1))"
	for host, tt := range map[string]struct {
		port int
		why  string
	}{
		"public1.example":  {22, "its port 22 is open only where a rule names the host itself"},
		"private1.example": {80, "its name leads to "},
	} {
		args := with(map[string]any{"host": host, "port": tt.port})
		out := b.run(source, args, func(c *run.Call) { c.Hosts = unnamed{} })
		if len(out.Refused) != 1 {
			t.Errorf("%s: %+v", host, out)
			continue
		}
		if got := out.Refused[0]; got.Host != host || !strings.HasPrefix(got.Why, tt.why) || got.Rule == "" {
			t.Errorf("%s: %+v", host, out)
		}
	}
}

// unnamed allows all hosts of a domain and names none.
type unnamed struct{ rules }

func (unnamed) Allows(host string, named bool) bool {
	return !named && strings.HasSuffix(host, ".example")
}

// rules allow some hosts.
type rules []string

func (r rules) Allows(host string, _ bool) bool { return slices.Contains(r, host) }
func (rules) Closed(string) string              { return "" }
func (rules) Asks(string) bool                  { return false }

func TestStateGoesInAndChangedBlocksComeOut(t *testing.T) {
	t.Parallel()
	b := open(t)
	const source = `
def f(agent_state, more: str):
    human = agent_state.memory.get_block("human")
    agent_state.memory.update_block_value(label="human", value=human.value + more)
    agent_state.memory.get_block("same").value = "s"
    return [agent_state.name, agent_state.memory.list_block_labels()]
`
	out := b.run(source, with(map[string]any{"more": "!"}), func(c *run.Call) {
		c.State = &run.State{Name: "Ada", Blocks: []run.Block{{Label: "human", Value: "h"}, {Label: "same", Value: "s"}}}
	})
	if out.Text != `["Ada", ["human", "same"]]` || len(out.Blocks) != 1 || out.Blocks["human"] != "h!" {
		t.Errorf("%+v", out)
	}
}

func TestManyCallsAtATimeEachHaveAnInterpreter(t *testing.T) {
	t.Parallel()
	b := open(t)
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			out, err := b.runner.Run(t.Context(), b.call("def f(i: int):\n return i * i", with(map[string]any{"i": i})))
			if err != nil || out.Text != fmt.Sprint(i*i) {
				t.Errorf("%d: %+v %v", i, out, err)
			}
		})
	}
	group.Wait()
}
