//go:build linux

package javascript_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loci/tools/custom/javascript"
	"loci/tools/custom/run"
)

// needNode skips a test on a machine without node; where there is one, it has to be found.
func needNode(t *testing.T) {
	t.Helper()
	if _, err := exec.LookPath("node"); err != nil {
		t.Skip(err)
	}
	if _, err := javascript.FindNode(os.Getenv("PATH"))(); err != nil {
		t.Fatal(err)
	}
}

// modules are packages as npm installs them, made by hand.
func modules(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	for path, text := range map[string]string{
		"node_modules/tiny/package.json":   `{"name": "tiny", "version": "1.2.0", "main": "index.js"}`,
		"node_modules/tiny/index.js":       "exports.small = (n) => n + ' is small'",
		"node_modules/modern/package.json": `{"name": "modern", "version": "1.0.0", "type": "module", "exports": "./index.js"}`,
		"node_modules/modern/index.js":     "export default function twice(n) { return 2 * n }",
	} {
		path = filepath.Join(folder, path)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return folder
}

func TestToolsThatAskForPackagesRunUnderNode(t *testing.T) {
	t.Parallel()
	needNode(t)
	b, folder := open(t), modules(t)
	with := func(c *run.Call) { c.Packages = folder }
	for name, tt := range map[string]struct{ source, want, note string }{
		"import of CommonJS": {"import { small } from 'tiny'\nexport function f(n: number) { return small(n) }", "3 is small", ""},
		"import of a module": {"import twice from 'modern'\nexport const f = async (n: number) => twice(n)", "6", ""},
		"require":            {"const { small } = require('tiny')\nmodule.exports.f = (n) => small(n)", "3 is small", ""},
		"both":               {"const tiny = require('tiny')\nexport function f(n) { return [tiny.small(n)] }", `["3 is small"]`, ""},
		"node's own":         {"import os from 'node:os'\nexport function f(n: number) { return typeof os.cpus() + n }", "object3", ""},
		"a map":              {"import 'tiny'\nexport function f(n) { return new Map([[n, 2]]) }", "[[3,2]]", "of type Map"},
		"secrets":            {"import 'tiny'\nexport function f(n) { return process.env.TOKEN }", "hunter2", ""},
	} {
		out := b.run(tt.source, map[string]any{"n": 3}, with, func(c *run.Call) { c.Env = []string{"TOKEN=hunter2"} })
		if out.Class != "" || out.Text != tt.want || !strings.Contains(out.Note, tt.note) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	for name, tt := range map[string]struct{ source, class, text string }{
		"it throws":      {"import 'tiny'\nexport function f(n) { throw new RangeError('no ' + n) }", "RangeError", "no 3"},
		"it is wrong":    {"import 'tiny'\nexport function f(n) {", "SyntaxError", "line 2"},
		"not there":      {"import 'absent'\nexport function f(n) { }", "Error", "absent"},
		"it never ends":  {"import 'tiny'\nexport function f(n) { return new Promise(() => {}) }", "Error", "nothing will settle"},
		"it ends itself": {"import 'tiny'\nexport function f(n) { process.exit(3) }", "RuntimeError", "code 3"},
		"a stray rejection": {
			"import 'tiny'\nexport async function f(n) { Promise.reject(new Error('x')); await new Promise(r => setTimeout(r, 9e3)) }",
			"Error", "x",
		},
		"too much memory": {
			"import 'tiny'\nexport function f(n) { const a = []; for (;;) a.push(new Array(1e5).fill(n)) }", "RuntimeError",
			"ended the interpreter",
		},
	} {
		out := b.run(tt.source, map[string]any{"n": 3}, with)
		if out.Class != tt.class || !strings.Contains(out.Text, tt.text) {
			t.Errorf("%s: %+v", name, out)
		}
	}
	long := b.run("import 'tiny'\nexport function f(n) { return '語'.repeat(n * 3e6) }", map[string]any{"n": 3}, with)
	if long.Class != "" || len(long.Text) != 3_000_000 || !strings.Contains(long.Note, "The result has 9000000 characters") {
		t.Errorf("%d bytes of a long result: %s %.100s", len(long.Text), long.Note, long.Text)
	}
	short := func(c *run.Call) { c.Time = time.Second }
	slow := b.run("import 'tiny'\nexport function f(n) { for (;;); }", map[string]any{"n": 3}, with, short)
	if slow.Class != "TimeoutError" {
		t.Errorf("%+v", slow)
	}
}

func TestANodeThatDoesNotStartIsNoFaultOfTheSource(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "node"), []byte("no program"), 0o700); err != nil {
		t.Fatal(err)
	}
	b := openAt(t, dir)
	out := b.run("import 'tiny'\nexport function f() { }", nil, func(c *run.Call) { c.Packages = modules(t) })
	if out.Class != "RuntimeError" || !strings.Contains(out.Text, "node does not start") {
		t.Errorf("%+v", out)
	}
}

func TestAToolUnderNodeSeesItsPackagesAndNothingElseOfThisMachine(t *testing.T) {
	t.Parallel()
	needNode(t)
	b, folder := open(t), modules(t)
	secret := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	source := `import fs from 'node:fs'
const tried = (what) => { try { return String(what()) } catch (e) { return 'refused' } }
export function f(secret, folder) {
  return [
    tried(() => fs.readFileSync(secret)),
    tried(() => fs.writeFileSync(folder + '/node_modules/tiny/index.js', 'x')),
    tried(() => fs.readdirSync('/root')),
  ].join()
}`
	out := b.run(source, map[string]any{"secret": secret, "folder": folder}, func(c *run.Call) { c.Packages = folder })
	if out.Text != "refused,refused,refused" {
		t.Errorf("%+v", out)
	}
}
