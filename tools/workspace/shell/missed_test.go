//go:build linux

package shell_test

import (
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/core/jobs"
	"loci/core/permission"
	"loci/sandbox"
	"loci/tools/workspace/shell"
)

// asked is a person who answers what lines ask, and remembers it.
type asked struct {
	mu     sync.Mutex
	answer jobs.Scope
	seen   map[string]bool // questions, by their ids
	asked  []string
	kept   []string
	looks  sync.WaitGroup
}

func (*asked) Attends(core.Client) bool                                { return true }
func (*asked) Allowed(core.Client, string) bool                        { return false }
func (*asked) Opens(core.Client, core.Opening) bool                    { return false }
func (*asked) Keep(core.Client, core.Client, string, jobs.Scope) error { return nil }
func (a *asked) KeepOpen(_, _ core.Client, o core.Opening, s jobs.Scope) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.kept = append(a.kept, fmt.Sprint(o.Rules, " ", s))
	return nil
}

// said is what was asked.
func (a *asked) said() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	return strings.Join(a.asked, "; ")
}

// attended gives the place a person who answers everything in one way, as soon as it is asked.
func (p *place) attended(answer jobs.Scope) *asked {
	p.Helper()
	a := &asked{answer: answer, seen: map[string]bool{}}
	var r *jobs.Registry
	r = jobs.New(jobs.Config{
		Clock: time.Now, Logger: slog.New(slog.DiscardHandler), Person: a,
		Changed: func(core.Change) { a.looks.Go(func() { a.look(r) }) }, // it holds the registry's lock
	})
	p.Cleanup(a.looks.Wait)
	p.Cleanup(r.Close)
	p.jobs = r
	p.shell = shell.New(shell.Config{
		Sandbox: p.box, Jobs: r, Caches: filepath.Join(p.ours, "caches"), Home: p.home, Hidden: []string{p.ours},
	})
	return a
}

// answers says how the person answers from now on.
func (a *asked) answers(s jobs.Scope) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answer = s
}

func (a *asked) look(r *jobs.Registry) {
	for _, q := range r.Questions("") {
		a.mu.Lock()
		first, o, answer := !a.seen[q.ID], q.Open, a.answer
		if first {
			a.seen[q.ID] = true
			a.asked = append(a.asked, fmt.Sprint(o.Kind, " ", o.Dir.Path, " ", o.Dir.Writable, " ", o.Port, " ", o.Rules))
		}
		a.mu.Unlock()
		if first {
			_ = r.Answer(q.ID, answer, core.Client{}) // the line may have ended meanwhile
		}
	}
}

// may gives a line what the rules open to it, as the gate does.
func (p *place) may(line string) {
	p.Helper()
	at := permission.Place{Mode: p.env.Workspace.Mode, Root: p.dir, Home: p.home, Real: permission.Real}
	call := permission.Call{Tool: "shell", Does: permission.DoesShell, Line: line}
	p.env.Workspace.Opens, p.env.Workspace.Hosts = p.rules.Openings(call, at), p.rules.Hosts(at)
}

// opening runs a line with what may be opened to it.
func (p *place) opening(line string) core.ToolResult {
	p.Helper()
	p.may(line)
	return p.call(p.Context(), shell.Args{Command: line})
}

func (p *place) outside(name, text string) string {
	p.Helper()
	path := filepath.Join(filepath.Dir(p.dir), name)
	p.file(path, text)
	return path
}

func TestALineThatMissedAFolderIsToldWhichAndWhatOpensIt(t *testing.T) {
	t.Parallel()
	p := open(t)
	path := p.outside("data/deep/a.csv", "1,2\n")
	dir := filepath.Dir(path)
	for line, want := range map[string]string{
		"cat " + path:                                        dir + " is on this machine, but not in the sandbox",
		"cat ../data/deep/a.csv":                             dir + " is on this machine",
		"ls " + dir + "; true":                               "/add-dir " + dir + " in the chat, or --add-dir " + dir + ")",
		"D=" + dir + "; cat $D/a.csv":                        "only the person can do it: /add-dir " + dir,
		"echo x > " + dir + "/new":                           dir + " is not open to be changed in the sandbox",
		"touch " + dir + "/new":                              "/add-dir " + dir + " --write in the chat, or --add-dir " + dir + ":rw",
		"python3 -c 'open(\"" + path + "\")' || cat " + path: dir + " is on this machine",
	} {
		p.says(p.opening(line).Text, want)
	}
	for _, line := range []string{
		"cat " + filepath.Dir(p.dir) + "/none/a.csv", "cat missing", "cat /usr/none", "cat /etc/shadow",
		"cat " + p.ours + "/x; ls " + p.ours,
		"echo " + path, "cat /tmp/none",
	} {
		if said := p.opening(line).Text; strings.Contains(said, "add-dir") {
			t.Errorf("%s: %s", line, said)
		}
	}
	p.rules = append(p.rules, rules(t, "read("+filepath.Dir(dir)+"/**)")...)
	if said := p.opening("cat " + path).Text; strings.Contains(said, "add-dir") {
		t.Errorf("what a rule denies is told: %s", said)
	}
}

// rules are those that deny.
func rules(t *testing.T, deny ...string) permission.Set {
	t.Helper()
	set, err := permission.ParseList(permission.List{Deny: deny}, permission.FromUser)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestALineThatMissedAFolderRunsAgainWhenAPersonOpensIt(t *testing.T) {
	t.Parallel()
	p := open(t)
	path := p.outside("data/a.csv", "1,2\n")
	p.outside("data/.env", "secret\n")
	dir := filepath.Dir(path)
	a := p.attended(jobs.ScopeFolder)
	r := p.opening("echo begun; cat " + path + " && cat " + dir + "/.e*")
	p.says(r.Text, "begun", "Exit code 1. The person opened "+dir+" to it, and it ran again", "1,2", "Permission denied")
	if strings.Contains(r.Text, "secret") {
		t.Errorf("rules don't hold there: %s", r.Text)
	}
	if a.said() != "folder "+dir+" false 0 [add_dir("+dir+")]" || strings.Join(a.kept, "") != "[add_dir("+dir+")] folder" {
		t.Errorf("asked %q, kept %q", a.said(), a.kept)
	}
	a.answers(jobs.ScopeNo)
	p.says(p.opening("cat "+path).Text, "Exit code 1.", "the person does not allow it. What helps")
}

func TestALineThatFailedRunsOutsideWhenAPersonLetsIt(t *testing.T) {
	t.Parallel()
	p := open(t)
	a := p.attended(jobs.ScopeOnce)
	// What this reads is nowhere in a sandbox; that it fails there is said in the kernel's words.
	p.file(filepath.Join(p.dir, "tool"),
		"#!/bin/sh\ntest -d "+p.home+" && echo outside && exit 0\necho 'bind: Operation not permitted'\nexit 1\n")
	r := p.opening("./tool")
	p.says(r.Text, "Exit code 0.", "bind: Operation not permitted", "outside", "It ran uncaged")
	if a.said() != "uncaged  false 0 [uncaged(./tool)]" || strings.Join(r.Layers, "") != core.LayersUncaged {
		t.Errorf("asked %q, layers %q", a.said(), r.Layers)
	}
	a.answers(jobs.ScopeNo)
	r = p.opening("./tool")
	p.says(r.Text, "Exit code 1.", "The sandbox may be why it failed; the person does not allow it", "uncaged(./tool)")
	if len(r.Layers) < 3 {
		t.Errorf("what confined it: %q", r.Layers)
	}
	p.env.Workspace.Mode = core.ModePlan
	before := a.said()
	if r := p.opening("./tool"); a.said() != before || strings.Contains(r.Text, "uncaged") {
		t.Errorf("a plan asks: %s", r.Text)
	}
}

func TestALineLetOutIsBoundedAndLeavesNothing(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.env.Workspace.Uncaged = true
	p.env.Variables = []string{"KEY=value"}
	known := []string{"PATH", "HOME", "USER", "LOGNAME", "LANG", "TERM", "PWD", "OLDPWD", "SHLVL", "_", "SSH_AUTH_SOCK", "XDG_RUNTIME_DIR"}
	vars := p.call(t.Context(), shell.Args{Command: "env"}).Text
	for _, v := range os.Environ() {
		if name, _, _ := strings.Cut(v, "="); !slices.Contains(known, name) && strings.Contains(vars, "\n"+name+"=") {
			t.Errorf("it has the daemon's %s", name)
		}
	}
	r := p.call(t.Context(), shell.Args{Command: "test -d " + p.home + " && echo $KEY $HOME; sleep 1000 & echo $!"})
	p.says(r.Text, "value "+p.home, "Exit code 0. It ran uncaged: outside")
	rows := strings.Split(strings.TrimSuffix(r.Text, "\n</foreign>"), "\n")
	pid := rows[len(rows)-1]
	if _, err := strconv.Atoi(pid); err != nil || alive(pid) {
		t.Errorf("of what it left, %q is there still: %s", pid, r.Text)
	}
	short := 1
	r = p.call(t.Context(), shell.Args{Command: "echo $$; sleep 1000 & sleep 1000", Timeout: &short})
	p.says(r.Text, "It was stopped after 1s, with all that it had started")
	r = p.call(t.Context(), shell.Args{Command: "head -c 100000000 /dev/zero"})
	p.says(r.Text, "it wrote too much")
}

func TestWithoutTheSandboxALineHasThePersonsHomeAndKeepsItsFolder(t *testing.T) {
	t.Parallel()
	p := open(t)
	box := sandbox.New(sandbox.Config{Mode: sandbox.Off, Scratch: filepath.Join(p.ours, "jobs")})
	t.Cleanup(box.Close)
	p.shell = shell.New(shell.Config{
		Sandbox: box, Jobs: p.jobs, Caches: filepath.Join(p.ours, "caches"), Home: p.home, Hidden: []string{p.ours}, Off: true,
	})
	if err := os.Mkdir(filepath.Join(p.dir, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(p.home, ".gitconfig"), []byte("[user]\n\tname = Ada\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	r := p.call(t.Context(), shell.Args{Command: "echo $HOME; git config user.name; cd sub; sleep 1000 & echo $!"})
	rows := strings.Split(r.Text, "\n")
	if len(rows) < 4 || rows[1] != p.home || rows[2] != "Ada" || strings.Contains(r.Text, "No such file") {
		t.Errorf("%s", r.Text)
	}
	coretest.Until(t, "what it left has ended", func() bool { return !alive(rows[3]) })
	if r.Dir == "" || !strings.HasSuffix(r.Dir, "/sub") {
		t.Errorf("it ended in %q", r.Dir)
	}
}

func alive(pid string) bool {
	text, err := os.ReadFile("/proc/" + pid + "/cmdline")
	return err == nil && len(text) > 0 // else it has ended, and nobody has noticed yet
}

func TestALineReachesAPortOfThisMachineThatAPersonOpens(t *testing.T) {
	t.Parallel()
	p := open(t)
	l, port := greeter(t)
	defer func() { _ = l.Close() }()
	a := p.attended(jobs.ScopeSession)
	line := fmt.Sprintf("exec 3<>/dev/tcp/127.0.0.1/%d && cat <&3", port)
	r := p.opening(fmt.Sprintf("bash -c '%s' || { echo connect ECONNREFUSED 127.0.0.1:%d; exit 1; }", line, port))
	p.says(r.Text, "Exit code 0.", fmt.Sprintf("The person opened the port %d of this machine to it, and it ran again", port), "hello")
	source := fmt.Sprintf("localhost:%d", port) // what it read there nobody vouches for
	p.says(r.Text, `<foreign from="`+source+`">`)
	p.is(r.Source, source)
	want := fmt.Sprintf("local_port  false %d [local_port(%d)]", port, port)
	if a.said() != want {
		t.Errorf("asked %q, not %q", a.said(), want)
	}
	r = p.opening(fmt.Sprintf("echo connect ECONNREFUSED 127.0.0.1:%d; exit 1", port))
	if strings.Count(r.Text, "ran again") != 1 || a.said() != want+"; "+want {
		t.Errorf("asked %q for a line that fails for another reason: %s", a.said(), r.Text)
	}
	set, err := permission.ParseList(permission.List{Allow: []string{fmt.Sprintf("local_port(%d)", port)}}, permission.FromSession)
	if err != nil {
		t.Fatal(err)
	}
	p.rules = set
	r = p.opening(line)
	p.says(r.Text, "Exit code 0.\n", "hello")
	p.is(r.Source, source)
	p.is(p.opening("echo hello").Source, "") // it may, and does not
	said := a.said()
	r = p.opening(fmt.Sprintf("echo connect ECONNREFUSED 127.0.0.1:%d; exit 1", port))
	if strings.Contains(r.Text, "ran again") || strings.Contains(r.Text, "only the person") || a.said() != said {
		t.Errorf("a port that is open is asked for: %s", r.Text)
	}
}

// greeter is a server of this machine that says hello.
func greeter(t *testing.T) (net.Listener, int) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			_, _ = c.Write([]byte("hello\n"))
			_ = c.Close()
		}
	}()
	return l, l.Addr().(*net.TCPAddr).Port //nolint:forcetypeassert // it listens on TCP
}

func TestAServerInTheBackgroundIsReachedFromThisMachineWhenAPersonOpensItsPort(t *testing.T) {
	t.Parallel()
	p := open(t)
	a := p.attended(jobs.ScopeOnce)
	port := freePort(t)
	line := fmt.Sprintf("python3 -m http.server %d --bind 127.0.0.1", port)
	p.may(line)
	p.file(filepath.Join(p.dir, "index.html"), "from the sandbox\n")
	id := p.behind(line)
	var got string
	coretest.Until(t, "the port", func() bool {
		got = fetch(t.Context(), port)
		return got != ""
	})
	p.says(got, "from the sandbox")
	p.says(a.said(), fmt.Sprintf("port  false %d [port(%d)]", port, port))
	p.says(p.job(shell.JobArgs{ID: id}).Text, fmt.Sprintf("http://127.0.0.1:%d", port))
	p.job(shell.JobArgs{ID: id, Stop: true})
	if got := fetch(t.Context(), port); got != "" {
		t.Errorf("it is open after its line has ended: %q", got)
	}
}

func freePort(t *testing.T) int {
	t.Helper()
	for port := 20000 + os.Getpid()%10000; port < leastPassing; port++ {
		l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", port))
		if err == nil {
			_ = l.Close()
			return port
		}
	}
	t.Fatal("there is no free port")
	return 0
}

const leastPassing = 32768

// fetch reads a page of a server on this machine; empty: there is none.
func fetch(ctx context.Context, port int) string {
	conn, err := (&net.Dialer{Timeout: time.Second}).DialContext(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port))
	if err != nil {
		return ""
	}
	defer func() { _ = conn.Close() }()
	_ = conn.SetDeadline(time.Now().Add(2 * time.Second))
	_, _ = conn.Write([]byte("GET /index.html HTTP/1.0\r\n\r\n"))
	page, _ := io.ReadAll(conn)
	return string(page)
}
