package pysource

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// outline is what both parsers see of a source.
type outline struct {
	Functions []outlined          `json:"functions"`
	Classes   map[string][]string `json:"classes"` // annotated fields by class
}

type outlined struct {
	Name   string   `json:"name"`
	Async  bool     `json:"async"`
	Params []string `json:"params"`
	Doc    *string  `json:"doc"`
}

// asCPython prints the outlines of files, by CPython's own parser; null where it refuses one.
const asCPython = `
import ast, inspect, json, sys
def doc(n):
    d = ast.get_docstring(n, clean=False)
    return None if d is None else "\n".join(l.rstrip(" \f\v") for l in inspect.cleandoc(d).split("\n")).strip("\n")
def params(a):
    n = len(a.args) - len(a.defaults)
    def one(p, default, kind): return kind + p.arg + (":" if p.annotation else "") + ("=" if default else "")
    every = a.posonlyargs + a.args
    free = len(every) - len(a.defaults)
    out = [one(p, i >= free, "/" if i < len(a.posonlyargs) else "") for i, p in enumerate(every)]
    if a.vararg: out.append(one(a.vararg, False, "*"))
    out += [one(p, d is not None, "") for p, d in zip(a.kwonlyargs, a.kw_defaults)]
    if a.kwarg: out.append(one(a.kwarg, False, "*"))
    return out
def classes(body, outer, out):
    for n in body:
        if isinstance(n, ast.ClassDef):
            fields = []
            for f in n.body:
                if isinstance(f, ast.AnnAssign) and isinstance(f.target, ast.Name) and f.simple: fields.append(f.target.id)
            out[outer + n.name] = fields
            classes(n.body, outer + n.name + ".", out)
    return out
for path in sys.argv[1:]:
    try:
        tree = ast.parse(open(path, "rb").read())
    except (SyntaxError, ValueError, RecursionError):
        print("null"); continue
    print(json.dumps({"functions": [{"name": n.name, "async": isinstance(n, ast.AsyncFunctionDef), "params": params(n.args), "doc": doc(n)}
        for n in tree.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))], "classes": classes(tree.body, "", {})}))
`

func ours(m *module) outline {
	out := outline{Functions: []outlined{}, Classes: map[string][]string{}}
	for _, f := range m.functions {
		one := outlined{Name: f.name, Async: f.async, Params: []string{}, Doc: f.doc}
		for _, p := range f.params {
			word := p.name
			if p.annotation != nil {
				word += ":"
			}
			if p.optional {
				word += "="
			}
			switch {
			case p.rest:
				word = "*" + word
			case p.positional:
				word = "/" + word
			}
			one.Params = append(one.Params, word)
		}
		out.Functions = append(out.Functions, one)
	}
	for name, c := range m.classes {
		fields := []string{}
		for _, f := range c.fields {
			if f.annotation != nil {
				fields = append(fields, f.name)
			}
		}
		out.Classes[name] = fields
	}
	return out
}

// TestSourcesAreReadAsCPythonReadsThem compares with CPython's own parser over its library, which holds every odd thing there is,
// and over the files of testdata.
func TestSourcesAreReadAsCPythonReadsThem(t *testing.T) {
	t.Parallel()
	python, err := exec.LookPath("python3")
	if err != nil {
		t.Skip("python3 is not installed")
	}
	where, err := exec.CommandContext(t.Context(), python, "-c", "import os; print(os.path.dirname(os.__file__))").Output()
	if err != nil {
		t.Fatal(err)
	}
	files, err := filepath.Glob("testdata/*.py")
	if err != nil || len(files) == 0 {
		t.Fatal(files, err)
	}
	for _, under := range []string{"", "*", "*/*"} {
		more, err := filepath.Glob(filepath.Join(strings.TrimSpace(string(where)), under, "*.py"))
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, more[:min(len(more), 60)]...)
	}
	said, err := exec.CommandContext(t.Context(), python, append([]string{"-W", "ignore", "-c", asCPython}, files...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	compared := 0
	for i, line := range strings.Split(strings.TrimSpace(string(said)), "\n") {
		var want *outline
		if err := json.Unmarshal([]byte(line), &want); err != nil {
			t.Fatal(err)
		}
		source, err := os.ReadFile(files[i])
		if err != nil {
			t.Fatal(err)
		}
		m, err := parse(source)
		if want == nil {
			continue
		}
		if err != nil {
			t.Errorf("%s: %v", files[i], err)
			continue
		}
		compared++
		if diff := cmp.Diff(*want, ours(m)); diff != "" {
			t.Errorf("%s (-CPython +ours):\n%s", files[i], diff)
		}
	}
	t.Logf("%d files", compared)
	if compared < 50 {
		t.Errorf("only %d of %d files were compared", compared, len(files))
	}
}
