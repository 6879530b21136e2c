//go:build linux

package custom_test

import (
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/core/jobs"
	"loci/core/permission"
	"loci/sandbox"
	"loci/sandbox/sandboxtest"
	"loci/tools"
	"loci/tools/custom"
	"loci/tools/custom/python"
	"loci/tools/custom/run"
)

// somebody is a person who is there, and keeps nothing.
type somebody struct{ jobs.Person }

func (somebody) Attends(core.Client) bool         { return true }
func (somebody) Allowed(core.Client, string) bool { return false }

func TestAToolAsksThePersonOfAChatForAHost(t *testing.T) {
	t.Parallel()
	cage := sandbox.New(sandbox.Config{Mode: sandbox.Full, Scratch: filepath.Join(t.TempDir(), "jobs"), Outside: sandboxtest.Network{}})
	t.Cleanup(cage.Close)
	if r := cage.Probe(t.Context()); r.Level != sandbox.LevelFull {
		t.Skip("this machine cannot confine programs: " + r.Detail)
	}
	lines := jobs.New(jobs.Config{Clock: time.Now, Person: somebody{}})
	t.Cleanup(lines.Close)
	runner := run.New(run.Config{Sandbox: cage, Start: python.Interpreter(os.Getenv("PATH"))})
	t.Cleanup(runner.Close)
	box := custom.New(custom.Config{BuiltIn: tools.New(), Sandbox: cage, Python: runner, Jobs: lines})
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "the page") }))
	t.Cleanup(server.Close)
	at, _ := server.Listener.Addr().(*net.TCPAddr)
	host := fmt.Sprintf("public%d.example.org", at.Port)
	source := "import urllib.request\ndef f():\n  '''Fetch.'''\n  return urllib.request.urlopen('http://" + host +
		"/', timeout=30).read().decode()\n"
	written := core.CustomTool{ID: core.NewToolID(), Language: core.LanguagePython, Source: source}
	if err := box.Describe(&written); err != nil {
		t.Fatal(err)
	}
	short, ok, err := box.Find(t.Context(), "run_code")
	if err != nil || !ok {
		t.Fatalf("%v %v", err, ok)
	}
	program := strings.NewReplacer("def f():\n  '''Fetch.'''\n  return ", "").Replace(source)
	for name, tt := range map[string]struct {
		tool  core.BoundTool
		args  string
		scope jobs.Scope
		want  string
	}{
		"allowed once":    {box.Bind(&written), `{}`, jobs.ScopeOnce, "the page"},
		"not allowed":     {box.Bind(&written), `{}`, jobs.ScopeNo, host + ": the person does not allow it"},
		"a short program": {short, fmt.Sprintf(`{"language": "python", "code": %q}`, program), jobs.ScopeOnce, "the page"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			agent := core.NewAgentID()
			env := core.ToolEnv{Agent: core.Agent{ID: agent}, Conversation: core.DefaultConversation(agent), Now: time.Now()}
			env.Workspace.Hosts = permission.Set{}.Hosts(permission.Place{Mode: core.ModeAsk})
			got := make(chan core.ToolResult, 1)
			go func() {
				r, err := tt.tool.Tool.Call(t.Context(), core.ToolCall{ID: "c", Name: "f", Arguments: tt.args}, env)
				if err != nil {
					t.Error(err)
				}
				got <- r
			}()
			var q jobs.Question
			coretest.Until(t, "the person is asked", func() bool {
				all := lines.Questions(agent)
				if len(all) == 1 {
					q = all[0]
				}
				return len(all) == 1
			})
			if q.Host.Host != host || q.Job.Call != "" {
				t.Errorf("asked: %+v", q.Host)
			}
			if _, err := lines.Behind(q.Job.ID); core.KindOf(err) != core.Conflict {
				t.Errorf("it can go to the background: %v", err)
			}
			if err := lines.Answer(q.ID, tt.scope, core.Client{}); err != nil {
				t.Fatal(err)
			}
			if r := <-got; !strings.Contains(r.Text, tt.want) {
				t.Errorf("%s", r.Text)
			}
		})
	}
}
