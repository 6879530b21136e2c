//go:build linux

package shell_test

import (
	"bytes"
	"context"
	"crypto/ed25519"
	"crypto/rand"
	"encoding/pem"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"golang.org/x/crypto/ssh"

	"loci/core"
	"loci/core/coretest"
	"loci/core/jobs"
	"loci/sandbox"
	"loci/tools/workspace/shell"
)

// forge is a server of repositories at example.com, over HTTPS and SSH, that lets in who has its password or key.
type forge struct {
	testing.TB
	repo  string // of all names
	https *httptest.Server
	ssh   net.Listener
	key   ssh.PublicKey
	done  sync.WaitGroup
}

const password = "of-the-forge-and-long"

func newForge(t *testing.T) *forge {
	t.Helper()
	f := &forge{TB: t, repo: filepath.Join(t.TempDir(), "repo.git")}
	f.git("init", "-q", "--bare", "-b", "main", f.repo)
	f.git("-C", f.repo, "config", "http.receivepack", "true")
	program := filepath.Join(strings.TrimSpace(f.git("--exec-path")), "git-http-backend")
	if _, err := os.Stat(program); err != nil {
		t.Skip("git-http-backend is not installed")
	}
	serve := &cgi.Handler{
		Path: program, Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(f.repo), "GIT_HTTP_EXPORT_ALL=1", "REMOTE_USER=ada"},
	}
	f.https = httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, given, _ := r.BasicAuth(); given != password {
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		serve.ServeHTTP(w, r)
	}))
	t.Cleanup(f.https.Close)
	return f
}

func (f *forge) git(args ...string) string {
	f.Helper()
	cmd := exec.CommandContext(f.Context(), "git", args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + f.TempDir()}
	out, err := cmd.CombinedOutput()
	if err != nil {
		f.Fatalf("git %q: %v: %s", args, err, out)
	}
	return string(out)
}

// Lookup, Dial and Own make it the network of a sandbox.
func (f *forge) Lookup(_ context.Context, host string) ([]netip.Addr, error) {
	if host == "example.com" {
		return []netip.Addr{netip.MustParseAddr("93.184.216.34")}, nil
	}
	return nil, errors.New("no such host")
}

func (f *forge) Dial(ctx context.Context, to netip.AddrPort) (net.Conn, error) {
	var d net.Dialer
	if to.Port() == 22 {
		return d.DialContext(ctx, "tcp", f.ssh.Addr().String())
	}
	return d.DialContext(ctx, "tcp", f.https.Listener.Addr().String())
}

func (f *forge) Own() ([]netip.Addr, error) { return nil, nil }

// overSSH starts a server for SSH, and returns the key that it lets in.
func (f *forge) overSSH() string {
	f.Helper()
	public, private, err := ed25519.GenerateKey(rand.Reader)
	if err != nil {
		f.Fatal(err)
	}
	if f.key, err = ssh.NewPublicKey(public); err != nil {
		f.Fatal(err)
	}
	block, err := ssh.MarshalPrivateKey(private, "")
	if err != nil {
		f.Fatal(err)
	}
	host, err := ssh.NewSignerFromKey(private)
	if err != nil {
		f.Fatal(err)
	}
	config := &ssh.ServerConfig{PublicKeyCallback: func(_ ssh.ConnMetadata, key ssh.PublicKey) (*ssh.Permissions, error) {
		if !bytes.Equal(key.Marshal(), f.key.Marshal()) {
			return nil, errors.New("another key")
		}
		return &ssh.Permissions{}, nil
	}}
	config.AddHostKey(host)
	if f.ssh, err = new(net.ListenConfig).Listen(f.Context(), "tcp", "127.0.0.1:0"); err != nil {
		f.Fatal(err)
	}
	f.done.Go(func() {
		for {
			conn, err := f.ssh.Accept()
			if err != nil {
				return
			}
			f.done.Go(func() { f.session(conn, config) })
		}
	})
	f.Cleanup(func() { _ = f.ssh.Close(); f.done.Wait() })
	return string(pem.EncodeToMemory(block))
}

// session serves one connection: git asks for one program on it.
func (f *forge) session(conn net.Conn, config *ssh.ServerConfig) {
	defer func() { _ = conn.Close() }()
	_, channels, requests, err := ssh.NewServerConn(conn, config)
	if err != nil {
		return
	}
	f.done.Go(func() { ssh.DiscardRequests(requests) })
	for wanted := range channels {
		channel, requests, err := wanted.Accept()
		if err != nil {
			return
		}
		for r := range requests {
			_ = r.Reply(r.Type == "exec" || r.Type == "env", nil)
			if r.Type != "exec" {
				continue
			}
			verb, _, _ := strings.Cut(string(r.Payload[4:]), " ")
			cmd := exec.CommandContext(f.Context(), "git", strings.TrimPrefix(verb, "git-"), f.repo)
			in, err := cmd.StdinPipe()
			if err != nil {
				return
			}
			cmd.Stdout, cmd.Stderr = channel, channel.Stderr()
			f.done.Go(func() { _, _ = io.Copy(in, channel); _ = in.Close() })
			_ = cmd.Run()
			_, _ = channel.SendRequest("exit-status", false, []byte{0, 0, 0, byte(cmd.ProcessState.ExitCode())})
			_ = channel.Close()
		}
	}
}

// open opens a project with a commit, whose lines may reach the forge.
func (f *forge) open(t *testing.T) *place {
	t.Helper()
	p := open(t)
	box := sandbox.New(sandbox.Config{Mode: sandbox.Full, Scratch: filepath.Join(p.ours, "jobs"), Outside: f})
	t.Cleanup(box.Close)
	p.box = box
	p.shell = shell.New(shell.Config{
		Sandbox: box, Jobs: p.jobs, Caches: filepath.Join(p.ours, "caches"), Home: p.home, Hidden: []string{p.ours},
	})
	p.file(filepath.Join(p.home, ".gitconfig"), "[user]\n\tname = Ada\n\temail = ada@example.org\n[credential]\n\thelper = store\n")
	p.file(filepath.Join(p.home, ".git-credentials"), "https://ada:"+password+"@example.com\n")
	if f.https != nil {
		ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: f.https.Certificate().Raw})
		p.file(filepath.Join(p.dir, "ca.crt"), string(ca))
		p.env.Variables = append(p.env.Variables, "GIT_SSL_CAINFO="+filepath.Join(p.dir, "ca.crt"))
	}
	p.says(p.line("git init -q -b main . && git add . && git commit -qm one"), "Exit code 0")
	return p
}

func TestGitPushesOverHTTPSWithATokenThatAPersonGave(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	p := f.open(t)
	remote := "git remote add origin https://example.com/repo.git"
	p.says(p.line(remote), "Exit code 0.",
		"(Written to the project's git configuration: remote.origin.url = https://example.com/repo.git; "+
			"remote.origin.fetch = +refs/heads/*:refs/remotes/origin/*.)")
	p.env.Workspace.Hosts = reach{}
	p.says(p.line("git push -u origin main"), "Could not resolve host", "fetch(example.com)")

	p.env.Workspace.Hosts = reach{allow: []string{"example.com"}}
	p.says(p.line("git push -u origin main"), "could not read Username")
	p.says(p.line("cat ~/.git-credentials ~/.gitconfig "+p.home+"/.git-credentials; ls -A ~ "+p.home), "No such file")

	p.env.Variables = append(p.env.Variables, "GIT_TOKEN="+password)
	p.says(p.line("git push -u origin main"), "Exit code 0.", "branch 'main' set up to track 'origin/main'",
		"Written to the project's git configuration: branch.main.remote = origin; branch.main.merge = refs/heads/main.")
	if got := f.git("-C", f.repo, "log", "--format=%s %ae", "main"); got != "one ada@example.org\n" {
		t.Errorf("%q", got)
	}
	// What was written is there for the next line, and for the person.
	f.git("-C", f.repo, "branch", "side", "main")
	p.says(p.line("git fetch -q && git switch --track origin/side && echo x >x && git add x && git commit -qm two && git push -q"),
		"Exit code 0.", "branch.side.remote = origin")
	if got := f.git("-C", f.repo, "log", "--format=%s", "side"); got != "two\none\n" {
		t.Errorf("%q", got)
	}
	if got := f.git("-C", p.dir, "config", "--get-regexp", "^(branch|remote)"); got != "remote.origin.url https://example.com/repo.git\n"+
		"remote.origin.fetch +refs/heads/*:refs/remotes/origin/*\nbranch.main.remote origin\nbranch.main.merge refs/heads/main\n"+
		"branch.side.remote origin\nbranch.side.merge refs/heads/side\n" {
		t.Errorf("%q", got)
	}
	p.says(p.line("git clone -q https://example.com/repo.git copy && git -C copy log --format=%s"), "Exit code 0.", "\none\n", "copy/.git")
}

func TestGitPushesAfterOneAnswer(t *testing.T) {
	t.Parallel()
	f := newForge(t)
	p := f.open(t)
	p.attend()
	p.env.Workspace.Hosts = reach{}
	p.env.Variables = append(p.env.Variables, "GIT_TOKEN="+password)
	p.says(p.line("git remote add origin https://example.com/repo.git"), "Exit code 0.")
	r := p.answered("git push -u origin main", jobs.ScopeOnce, func(q jobs.Question) { p.is(q.Host.Host, "example.com") })
	p.says(r.Text, "Exit code 0.", "branch 'main' set up to track 'origin/main'", "branch.main.remote = origin")
	p.is(r.Source, "example.com")
	if got := f.git("-C", f.repo, "log", "--format=%s", "main"); got != "one\n" {
		t.Errorf("%q", got)
	}
	r = p.answered("git push origin main:second", jobs.ScopeNo, nil) // the answer was for that line
	p.says(r.Text, "Exit code 128.", "Could not resolve host", "the person does not allow it")
}

func TestGitPushesOverSSHWithAKeyThatAPersonGave(t *testing.T) {
	t.Parallel()
	if _, err := exec.LookPath("ssh"); err != nil {
		t.Skip("ssh is not installed")
	}
	f := newForge(t)
	key := f.overSSH()
	p := f.open(t)
	p.env.Workspace.Hosts = reach{allow: []string{"example.com"}}
	p.says(p.line("git remote add origin git@example.com:repo.git"), "remote.origin.url = git@example.com:repo.git")
	const ssh = `GIT_SSH_COMMAND="ssh -i ~/key -o StrictHostKeyChecking=accept-new" `
	p.says(p.line(ssh+"git push -u origin main"), "Permission denied")
	p.env.Variables = append(p.env.Variables, "DEPLOY_KEY="+key)
	p.says(p.line(`umask 077; printf '%s\n' "$DEPLOY_KEY" >~/key; `+ssh+"git push -u origin main"),
		"Exit code 0.", "branch.main.remote = origin")
	if got := f.git("-C", f.repo, "log", "--format=%s", "main"); got != "one\n" {
		t.Errorf("%q", got)
	}
}

func TestWhatGitWouldRunIsNotWrittenAndThePersonIsToldHow(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.says(p.line("git init -q ."), ".git")
	p.says(p.line("git config core.fsmonitor 'a b'; git config user.name Ada; git config alias.st status; git config alias.st '!x' --add"),
		"(Written to the project's git configuration: user.name = Ada.)",
		"(Not written to the project's git configuration: core.fsmonitor (git could run or read something because of it)",
		"only the person can do it, if they want it: git config core.fsmonitor 'a b'; "+
			"git config --replace-all alias.st status && git config --add alias.st '!x'")
	p.says(p.line("git config --unset core.bare; git config user.name"), "Exit code 0.\nAda", "git config --unset-all core.bare")
	p.says(p.line("printf '[a]\\n\\tb = \"'\"\\033]0;x\\a\"'\"\\n' >>.git/config"), "Exit code 0.")
	p.says(p.line("git config a.b \"$(head -c 300 /dev/zero | tr '\\0' x)\""), "git config --edit")
}

func TestTheProjectsOwnNameComesBeforeThePersons(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.file(filepath.Join(p.home, ".config/git/config"), "[user]\n\tname = Ada\n\temail = ada@home.example\n")
	p.line("git init -q . && git config user.email ada@work.example")
	p.says(p.line("git commit -q --allow-empty -m one; git log --format='%an <%ae>'; git config --global core.editor x"),
		"Exit code 0.\nAda <ada@work.example>")
	p.is(p.line("git config core.editor"), "Exit code 1.")
}

func TestALineIsToldWhatWasReplacedOutside(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.line("git init -q .")
	p.env.Workspace.Dir = ""
	done := make(chan core.ToolResult, 1)
	go func() { done <- p.call(t.Context(), shell.Args{Command: "touch began; sleep 100"}) }()
	coretest.Until(t, "the line runs", func() bool { _, err := os.Stat(filepath.Join(p.dir, "began")); return err == nil })
	(&forge{TB: t}).git("-C", p.dir, "config", "user.name", "x")
	r := <-done
	p.says(r.Text, "stopped", ".git/config, which is closed to it", "Run it again")
	if !r.IsError {
		t.Error("it is no error")
	}
}
