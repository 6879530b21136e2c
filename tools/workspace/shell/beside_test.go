//go:build linux

package shell_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/core/permission"
	"loci/tools/workspace/shell"
)

// beside makes a folder beside the project, with a secret, and opens it.
func (p *place) beside(writable bool) string {
	p.Helper()
	dir := filepath.Join(filepath.Dir(p.dir), "library")
	p.file(filepath.Join(dir, "lib.txt"), "text\n")
	p.file(filepath.Join(dir, ".env"), "secret\n")
	p.env.Workspace.Dirs = []core.WorkspaceDir{{Path: dir, Writable: writable}}
	set, err := permission.ParseList(permission.List{Allow: []string{permission.DirRule(dir, writable)}}, permission.FromSession)
	if err != nil {
		p.Fatal(err)
	}
	p.rules = append(p.rules, set...)
	return dir
}

func TestALineSeesTheFoldersThatWereOpenedBesideTheProject(t *testing.T) {
	t.Parallel()
	p := open(t)
	dir := p.beside(false)
	p.says(p.line("cat "+dir+"/lib.txt; cat "+dir+"/.e*; echo x > "+dir+"/lib.txt"), "text", "Exit code 1.", "Read-only",
		"Closed by rules of permission, to read: "+dir+"/.env")
	p.env.Workspace.Dirs = nil
	p.says(p.line("cat "+dir+"/lib.txt"), "No such file")
	dir = p.beside(true)
	p.says(p.line("echo new > "+dir+"/lib.txt"), "Exit code 0.")
	if got, err := os.ReadFile(dir + "/lib.txt"); err != nil || string(got) != "new\n" {
		t.Errorf("%q, %v", got, err)
	}
	p.env.Workspace.Mode = core.ModePlan
	p.says(p.line("echo other > "+dir+"/lib.txt"), "Read-only")
}

func TestNoProgramIsReachedThroughASocketBesideTheProject(t *testing.T) {
	t.Parallel()
	p := open(t)
	dir := p.beside(true)
	folder, err := os.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = folder.Close() }()
	// By its descriptor, since the folder's name may be too long for a socket.
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", fmt.Sprintf("/proc/self/fd/%d/s", folder.Fd()))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.Close() }()
	p.says(p.line("test -S "+dir+"/s && echo a socket; cat "+dir+"/lib.txt"), "text")
	if said := p.line("test -S " + dir + "/s && echo a socket; true"); strings.Contains(fmt.Sprint(said), "a socket") {
		t.Errorf("it is there: %v", said)
	}
}

func TestWhatALineChangesBesideTheProjectIsNoticed(t *testing.T) {
	t.Parallel()
	p := open(t)
	dir := p.beside(true)
	var watched []string
	s := shell.New(shell.Config{
		Sandbox: p.box, Jobs: p.jobs, Caches: filepath.Join(p.ours, "caches"), Home: p.home, Hidden: []string{p.ours},
		Watch: func(_ context.Context, env core.ToolEnv, _ []string, _ func() string) func(context.Context) string {
			watched = append(watched, env.Workspace.Path)
			return func(context.Context) string { return "" }
		},
	})
	p.shell = s
	p.line("touch a")
	if got := strings.Join(watched, " "); got != p.dir+" "+dir {
		t.Errorf("watched: %s", got)
	}
	p.says(p.line("mkdir "+dir+"/.vscode && touch "+dir+"/.vscode/tasks.json"),
		"Other programs act on what was changed here", dir+"/.vscode/tasks.json")
}
