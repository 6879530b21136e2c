//go:build linux

package custom_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/permission"
	"loci/core/toolbox"
	"loci/daemon/permissions"
	"loci/sandbox"
	"loci/sandbox/sandboxtest"
	"loci/storage"
	"loci/tools"
	"loci/tools/custom"
	"loci/tools/custom/javascript"
	"loci/tools/custom/packages"
	"loci/tools/custom/packages/packagestest"
	"loci/tools/custom/python"
	"loci/tools/custom/run"
)

// confined is the use cases of tools on this machine's sandbox, with an index of packages.
type confined struct {
	*testing.T
	tools *toolbox.Tools
	index *packagestest.Index
	rules *permissions.Files
}

func openConfined(t *testing.T) *confined {
	t.Helper()
	cage := sandbox.New(sandbox.Config{
		Mode: sandbox.Full, Scratch: filepath.Join(t.TempDir(), "jobs"), Outside: sandboxtest.Network{},
	})
	t.Cleanup(cage.Close)
	if r := cage.Probe(t.Context()); r.Level != sandbox.LevelFull {
		t.Skip("this machine cannot confine programs: " + r.Detail)
	}
	store, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = store.Close() })
	path := os.Getenv("PATH")
	c := &confined{T: t, index: packagestest.New(t)}
	kept := packages.New(packages.Config{
		Sandbox: cage, Dir: filepath.Join(t.TempDir(), "packages"), Python: python.Find(path), Node: javascript.FindNode(path),
		PyPI: c.index.PyPI(), Npm: c.index.Npm(),
	})
	t.Cleanup(kept.Close)
	pythons := run.New(run.Config{Sandbox: cage, Start: python.Interpreter(path)})
	t.Cleanup(pythons.Close)
	engines := run.New(run.Config{Sandbox: cage, Start: javascript.Engine(path)})
	t.Cleanup(engines.Close)
	box := custom.New(custom.Config{
		BuiltIn: tools.New(), Store: store, Sandbox: cage, Python: pythons, JavaScript: engines, Packages: kept,
	})
	c.rules = permissions.New(permissions.Config{Own: filepath.Join(t.TempDir(), "permissions.toml")})
	c.tools = toolbox.New(toolbox.Config{
		Store: store, Box: box, Maker: box, Changed: func(...core.AgentID) {}, Clock: time.Now,
		Hosts: func() (core.HostRules, error) {
			set, err := c.rules.Rules("")
			return set.Hosts(permission.Place{}), err
		},
	})
	return c
}

func (c *confined) try(in toolbox.Trial) core.ToolResult {
	c.Helper()
	r, _, err := c.tools.Try(c.Context(), in)
	if err != nil {
		c.Fatal(err)
	}
	return r
}

// requests is a package of that name, as far as a tool here uses it.
const requests = `
import urllib.request

class Response:
    def __init__(self, text):
        self.text = text

def get(url):
    return Response(urllib.request.urlopen(url, timeout=20).read().decode())
`

func TestAToolWithPackagesReachesAHostOnceItsCommandWasRun(t *testing.T) {
	t.Parallel()
	c := openConfined(t)
	c.index.Wheel(t, "requests", "2.99", map[string]string{"requests/__init__.py": requests})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the page") }))
	t.Cleanup(server.Close)
	at, _ := server.Listener.Addr().(*net.TCPAddr)
	host := fmt.Sprintf("public%d.example.org", at.Port)
	in := toolbox.Trial{Args: map[string]any{"url": "http://" + host + "/"}}
	in.Source = `
import requests

def fetch(url: str) -> str:
    """Fetch a page.

    Args:
        url: Its address.
    """
    return requests.get(url).text
`
	in.Pip = &[]core.Requirement{{Name: "requests", Version: "2.99"}}
	refused := c.try(in)
	command := regexp.MustCompile(`loci permissions add allow '([^']*)'`).FindStringSubmatch(refused.Text)
	if !refused.IsError || command == nil || command[1] != "fetch("+host+")" {
		t.Fatalf("nobody is told how to open it: %s", refused.Text)
	}
	if err := c.rules.Add(permission.Allow, command[1], ""); err != nil { // what the command does
		t.Fatal(err)
	}
	if r := c.try(in); r.IsError || r.Text != "the page" {
		t.Errorf("after it: %s", r.Text)
	}
}

func TestAToolOfEachLanguageUsesItsPackages(t *testing.T) {
	t.Parallel()
	c := openConfined(t)
	c.index.Wheel(t, "tiny", "1.2", map[string]string{"tiny.py": "def small(n): return f'{n} is small'\n"})
	c.index.Module(t, "@scope/tiny", "1.2.0", map[string]string{
		"package.json": `{"name": "@scope/tiny", "version": "1.2.0", "main": "i.js", "scripts": {"postinstall": "touch /work/ran"}}`,
		"i.js":         "exports.small = (n) => `${n} is small`",
	})
	in := toolbox.Trial{Args: map[string]any{"n": 3}}
	in.Source = "import tiny\ndef f(n: int):\n  '''Says it.\n\n  Args:\n    n: One.\n  '''\n  return tiny.small(n)\n"
	in.Pip = &[]core.Requirement{{Name: "tiny"}}
	if r := c.try(in); r.Text != "3 is small" {
		t.Errorf("Python: %s %s", r.Text, r.Stderr)
	}
	in = toolbox.Trial{Args: map[string]any{"n": 3}}
	in.Source = "import { small } from '@scope/tiny'\nexport function f(n: number) { return small(n) }"
	in.Language = core.LanguageTypeScript
	in.Schema = &core.ToolSpec{Name: "f", Parameters: []byte(`{"type":"object","properties":{"n":{"type":"integer"}}}`)}
	in.Npm = &[]core.Requirement{{Name: "@scope/tiny", Version: "1.2.0"}}
	if r := c.try(in); r.Text != "3 is small" {
		t.Errorf("TypeScript: %s %s", r.Text, r.Stderr)
	}
	in.Npm = &[]core.Requirement{{Name: "absent"}}
	if r := c.try(in); !r.IsError || !strings.Contains(r.Text, "absent could not be installed from 127.0.0.1") {
		t.Errorf("one that is not there: %s", r.Text)
	}
	in.Npm = &[]core.Requirement{{Name: "some/repository"}}
	if r := c.try(in); !r.IsError || !strings.Contains(r.Text, "is no package") {
		t.Errorf("a repository: %s", r.Text)
	}
}
