//go:build linux

package javascript_test

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/sandbox"
	"loci/sandbox/stage"
	"loci/tools/custom/javascript"
	"loci/tools/custom/run"
)

// TestMain lets the tests' own program be launcher, first process of sandboxes and worker, as the daemon's is.
func TestMain(m *testing.M) {
	if code, ours := stage.Main(os.Args); ours {
		os.Exit(code)
	}
	if code, ours := javascript.Main(os.Args); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// roomy is a sandbox with room for the race detector, which takes a multiple of what a deep stack does.
type roomy struct{ core.Sandbox }

func (r roomy) Run(ctx context.Context, job core.Job) (core.JobResult, error) {
	if raced {
		job.Limits.Memory = 4 << 30
	}
	return r.Sandbox.Run(ctx, job)
}

// bench is a runner on this machine's sandbox.
type bench struct {
	testing.TB
	runner *run.Runner
}

func open(tb testing.TB) *bench {
	tb.Helper()
	return openAt(tb, os.Getenv("PATH"))
}

// openAt looks for node in a path.
func openAt(tb testing.TB, path string) *bench {
	tb.Helper()
	box := sandbox.New(sandbox.Config{Mode: sandbox.Full, Scratch: filepath.Join(tb.TempDir(), "jobs")})
	tb.Cleanup(box.Close)
	if r := box.Probe(tb.Context()); r.Level != sandbox.LevelFull {
		tb.Skip("this machine cannot confine programs: " + r.Detail)
	}
	b := &bench{tb, run.New(run.Config{Sandbox: roomy{box}, Start: javascript.Engine(path)})}
	tb.Cleanup(b.runner.Close)
	return b
}

// run runs the function f of a source.
func (b *bench) run(source string, args map[string]any, change ...func(*run.Call)) run.Outcome {
	b.Helper()
	c := run.Call{Tool: "f", Source: source, Function: "f", Arguments: args, Time: time.Minute}
	for _, f := range change {
		f(&c)
	}
	if c.Arguments == nil {
		c.Arguments = map[string]any{}
	}
	out, err := b.runner.Run(b.Context(), c)
	if err != nil {
		b.Fatal(err)
	}
	return out
}

func TestAToolInTypeScriptRunsWithNothingInstalled(t *testing.T) {
	t.Parallel()
	b := open(t)
	args := map[string]any{"sides": 6, "names": []string{"a", "b"}}
	for name, tt := range map[string]struct{ source, want, note string }{
		"typed": {
			"export function f(sides: number, names?: string[]): string { return `${sides} ${names!.join()}` }", "6 a,b", "",
		},
		"in any order": {
			"interface N { x: number }\nexport const f = async (names: string[], sides = 3) => [sides, names]", `[6,["a","b"]]`, "",
		},
		"one object": {"export function f({ sides, names }: { sides: number; names: string[] }) { return sides + names.length }", "8", ""},
		"by default": {"export default function f(sides: number, names: any) { return { sides } }", `{"sides":6}`, ""},
		"later": {
			"export async function f(sides, names) { await new Promise(r => setTimeout(r, 20)); return 'late' }", "late", "",
		},
		"nothing":        {"export function f(sides, names) { }", "undefined", ""},
		"a map":          {"export function f(sides, names) { return new Map([[1, 2]]) }", "[[1,2]]", "of type Map"},
		"a large number": {"export function f(sides, names) { return 2n ** 70n }", "1180591620717411303424", "of type bigint"},
		"itself":         {"export function f(sides, names) { const a = []; a.push(a); return a }", "[object Array]", "of type Array"},
		"an enum":        {"enum Color { Red = 'red' }\nexport function f(sides, names): Color { return Color.Red }", "red", ""},
		"bytes": {
			"export function f(sides, names) { return new TextDecoder().decode(new TextEncoder().encode('ä€')) }", "ä€", "",
		},
		"some bytes": {
			"const of = (t) => new TextEncoder().encode(t)\n" +
				"export function f(sides, names) { return new TextDecoder().decode(of('häh').subarray(1, 3)) }", "ä", "",
		},
		"bytes of no text": {
			"export function f(sides, names) { return new TextDecoder().decode(new Uint8Array([65, 255, 66])) }", "A\ufffdB", "",
		},
		"many bytes": {
			"export function f(sides, names) { return new TextDecoder().decode(new Uint8Array(300000).fill(65)).length }", "300000", "",
		},
		"defaults that hold signs": {
			"export function f(sides, to = 'a, (b //', at = { url: `x)` }, names) { return [sides, to, at.url, names.length] }",
			`[6,"a, (b //","x)",2]`, "",
		},
		"much markup": {
			"export function f(sides, names) { return '<>'.repeat(3_000_000) }", strings.Repeat("<>", 500_000), "6000000 characters",
		},
		"a variable": {"export function f(sides, names) { return process.env.TOKEN }", "t", ""},
		"CommonJS":   {"exports.f = (sides, names) => sides", "6", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := (&bench{t, b.runner}).run(tt.source, args, func(c *run.Call) { c.Env = []string{"TOKEN=t"} })
			if out.Text != tt.want || out.Class != "" || !strings.Contains(out.Note, tt.note) || (tt.note == "") != (out.Note == "") {
				t.Errorf("%+v", out)
			}
		})
	}
}

func TestWhatFailsIsToldByItsClass(t *testing.T) {
	t.Parallel()
	b := open(t)
	for name, tt := range map[string]struct{ source, class, text string }{
		"thrown":        {"export function f() { throw new RangeError('too far') }", "RangeError", "too far"},
		"rejected":      {"export async function f() { throw new TypeError('no') }", "TypeError", "no"},
		"thrown text":   {"export function f() { throw 'why' }", "Error", "why"},
		"no export":     {"function g() {}", "Error", "exports no function f"},
		"not finished":  {"export function f( {", "SyntaxError", "line 1"},
		"a package":     {"import x from 'left-pad'\nexport function f() { return x }", "Error", "npm_requirements"},
		"no such thing": {"export function f() { return fetch('http://a') }", "ReferenceError", "fetch"},
		"never":         {"export function f() { return new Promise(() => {}) }", "Error", "nothing will settle"},
		"ever deeper":   {"export function f() { return f() }", "", "stack"},
		"much memory":   {"export function f() { const a = []; for (;;) a.push(new ArrayBuffer(1 << 20)) }", "", ""},
		"an argument":   {"export function f(a) { }", "TypeError", "unexpected argument 'b'"},
		"at the timer": {
			"export function f() { return new Promise(() => setTimeout(() => { throw new Error('late') }, 1)) }", "Error", "late",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			args := map[string]any{}
			if name == "an argument" {
				args["b"] = 1
			}
			out := (&bench{t, b.runner}).run(tt.source, args)
			if out.Class == "" || tt.class != "" && out.Class != tt.class || !strings.Contains(out.Text, tt.text) {
				t.Errorf("%+v", out)
			}
		})
	}
	out := b.run("export function f() { for (;;); }", nil, func(c *run.Call) { c.Time = time.Second })
	if out.Class != "TimeoutError" {
		t.Errorf("%+v", out)
	}
}

func TestWhatIsPrintedIsKeptApartAndBlocksComeBack(t *testing.T) {
	t.Parallel()
	b := open(t)
	out := b.run(`export function f(agent_state: any, more: string) {
	console.log("one", { a: 1 }); console.error("two")
	agent_state.memory.update_block_value("human", agent_state.memory.get_block("human").value + more)
	return agent_state.name
}`, map[string]any{"more": "!"}, func(c *run.Call) {
		c.State = &run.State{Name: "Ada", Blocks: []run.Block{{Label: "human", Value: "h"}, {Label: "same", Value: "s"}}}
	})
	if out.Text != "Ada" || out.Stdout != `one {"a":1}` || out.Stderr != "two" || len(out.Blocks) != 1 || out.Blocks["human"] != "h!" {
		t.Errorf("%+v", out)
	}
}
