//go:build linux

package shell_test

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
	"loci/core/permission"
	"loci/tools/workspace/shell"
)

const secret = "of-a-person"

// closed is a project with files that rules close, in a repository.
func closed(t *testing.T, list permission.List) *place {
	t.Helper()
	p := open(t)
	rules, err := permission.ParseList(list, permission.FromUser)
	if err != nil {
		t.Fatal(err)
	}
	p.rules = rules
	for _, name := range []string{".env", "config/.env.local", "deep/er/key.pem", "secrets/a", "secrets/b/c", "place/in/file"} {
		p.file(filepath.Join(p.dir, name), secret)
	}
	p.file(filepath.Join(p.dir, "open.txt"), "open")
	p.file(filepath.Join(p.dir, ".mcp.json"), "{}")
	for name, to := range map[string]string{"alias": ".env", "folder": "secrets"} {
		if err := os.Symlink(to, filepath.Join(p.dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Link(filepath.Join(p.dir, ".env"), filepath.Join(p.dir, "hard")); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestNoLineReadsWhatRulesClose tries lines one after another, so that each finds what those before left.
func TestNoLineReadsWhatRulesClose(t *testing.T) {
	t.Parallel()
	p := closed(t, permission.List{Deny: []string{"read(secrets/**)"}, Ask: []string{"read(place/in/file)"}})
	lines := []string{
		"cat .e*", "cat ./.[e]nv", "cat $(echo .en)v", "f=.en; cat ${f}v", "cat al*", "cat hard", "cat < hard",
		"grep -r . .", "cat config/.e*",
		"cp -r . /tmp/x; cat /tmp/x/.e* /tmp/x/hard", "tar c . | tar xO", "mv .e* x; cat x", "mv config c; cat c/.e*; cat config/.e*",
		"cat c/.e*", "mv hard h; cat h", "cat h", "mv secrets s; cat s/*", "cat folder/a folder/b/c", "ln .e* l; cat l",
		"ln -s .e* s2; cat s2",
		"cp .e* y; cat y", "mv place p2; cat p2/in/f*", "cat p2/in/f* place/in/f*", "mv place/in place/out; cat place/out/*",
		"cat place/out/*",
		"ln place/in/f* other; cat other", "dd if=$(echo .e*)", "base64 .e*|base64 -d", "sort deep/er/*", "sh -c 'cat .e?v'",
		"cat < <(cat hard)",
		"find . -type f -exec cat {} +", "rm -f .e*; cat .e*", "chmod 644 .e* hard; cat hard", "cat /proc/self/cwd/.e*",
		"umount .e*; cat .e*",
		"cp -al . /tmp/l; cat /tmp/l/.e*", "truncate -s 0 .e*", "echo x >.e*", "git init -q .; git add -A; git stash; git show",
		"cat ~+/.e*",
	}
	if python, err := exec.LookPath("python3"); err == nil && strings.HasPrefix(python, "/usr/") {
		lines = append(lines, `python3 -c 'import os;print(open(".e"+"nv").read())'`,
			`python3 -c 'import mmap;f=open("hard","r+b");print(mmap.mmap(f.fileno(),0)[:])'`,
			`python3 -c 'import os;os.rename("config","c9");print(open("c9/.env.local").read())'`)
	}
	for _, line := range lines {
		p.env.Workspace.Dir = ""
		if got := p.line(line); strings.Contains(got, secret) || strings.Contains(got, "Nothing was run") {
			t.Errorf("%s: %q", line, got)
		}
	}
	for _, name := range []string{".env", "deep/er/key.pem", "secrets/a", "secrets/b/c"} {
		if text, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || string(text) != secret {
			t.Errorf("outside, %s: %q %v", name, text, err)
		}
	}
}

func TestAnEarlierLinesFileIsClosedToTheNext(t *testing.T) {
	t.Parallel()
	p := open(t)
	p.says(p.line("echo "+secret+" >.env; cat .e*"), secret) // its own, until it ends
	if got := p.line("cat .e*"); strings.Contains(got, secret) {
		t.Errorf("%q", got)
	}
	if got := p.line("mkdir d && cd d && echo " + secret + " >k.pem"); strings.Contains(got, "Permission") {
		t.Errorf("%q", got)
	}
	p.says(p.line("cat k.p*"), "Permission denied", "Closed by rules of permission, to read: .env, d/k.pem.", "asks the person")
}

// TestADeniedNameThatAppearsLaterIsClosedFromTheNextLineOn makes files that rules deny while a line runs.
func TestADeniedNameThatAppearsLaterIsClosedFromTheNextLineOn(t *testing.T) {
	t.Parallel()
	p := closed(t, permission.List{Deny: []string{"read(*.hush)", "write(kept/**)"}})
	p.says(p.line("mkdir -p a kept; echo "+secret+" >a/new.hush; echo one >kept/file"), "Exit code 0.")
	p.env.Workspace.Dir = ""
	if got := p.line("cat a/new.hush; cat a/n*; cp a/new.hush b; cat b"); strings.Contains(got, secret) {
		t.Errorf("it reads what is denied: %q", got)
	}
	p.line("echo two >kept/file; rm -rf kept; mv kept away")
	if text, err := os.ReadFile(filepath.Join(p.dir, "kept/file")); err != nil || string(text) != "one\n" {
		t.Errorf("it changes what is denied: %q %v", text, err)
	}
}

func TestALineReadsWhatItNamesOnceItMayRun(t *testing.T) {
	t.Parallel()
	p := closed(t, permission.List{Allow: []string{"read(deep/er/key.pem)"}, Ask: []string{"read(secrets/**)"}})
	p.says(p.line("cat .env"), "Exit code 0.\n"+secret,
		"to read: config/.env.local, secrets; to change: .env, .mcp.json, deep/er/key.pem, hard.")
	for _, line := range []string{"cat ./.env", "cat <.env", "cat alias", "cd config && cat .env.local", "cat deep/er/*", "cat secrets/a"} {
		p.env.Workspace.Dir = ""
		p.says(p.line(line), secret)
	}
	p.env.Workspace.Dir = ""
	p.is(strings.Split(p.line("cat secrets/a; cat .e* sec*/b"), "\n(")[0],
		"Exit code 1.\n"+secret+"cat: .env: Permission denied\ncat: secrets/b: Permission denied")
}

func TestWhatMayNotBeChangedIsReadOnlyForEveryLine(t *testing.T) {
	t.Parallel()
	p := closed(t, permission.List{Deny: []string{"write(place/**)"}, Ask: []string{"write(open.txt)"}})
	for _, line := range []string{
		"echo x >plac*/in/file", "echo x >>.mcp.js*n", "mv place q", "mv .mcp.j* q", "rm -rf place", "f=open; echo x >$f.txt",
		"touch place/in/new", "ln .mcp.j* m; echo x >m",
	} {
		p.line(line)
	}
	for name, want := range map[string]string{"place/in/file": secret, ".mcp.json": "{}", "open.txt": "open"} {
		if text, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || string(text) != want {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
	p.line("echo named >open.txt; echo named >.mcp.json")
	for _, name := range []string{"open.txt", ".mcp.json"} {
		if text, err := os.ReadFile(filepath.Join(p.dir, name)); err != nil || string(text) != "named\n" {
			t.Errorf("%s: %q %v", name, text, err)
		}
	}
}

func TestRulesHoldForWhatALineSeesBesideTheProject(t *testing.T) {
	t.Parallel()
	p := closed(t, permission.List{Deny: []string{"read(~/.cargo/bin/key)", "read(~/.pyenv/**)"}})
	p.file(filepath.Join(p.home, ".cargo/bin/key"), secret)
	p.file(filepath.Join(p.home, ".cargo/bin/tool"), "#!/bin/sh\necho works\n")
	p.file(filepath.Join(p.home, ".pyenv/key"), secret)
	got := p.line("tool; cat ~/.cargo/bin/key " + p.home + "/.cargo/bin/k* " + p.home + "/.pyenv/*")
	p.says(got, "works", "Permission denied", "No such file")
	if strings.Contains(got, secret) {
		t.Errorf("%q", got)
	}
}

func TestALineRunsOnlyWhereAllRulesCanBeKept(t *testing.T) {
	t.Parallel()
	p := open(t)
	for i := range core.MostJobPaths + 1 {
		p.file(filepath.Join(p.dir, fmt.Sprintf("certs/%d.pem", i)), secret)
	}
	p.says(p.line("ls"), "Nothing was run", "close 1001 files and folders", "loci permissions add allow 'read(*.pem)' --folder .")
	if err := os.Remove(filepath.Join(p.dir, "certs/0.pem")); err != nil {
		t.Fatal(err)
	}
	p.says(p.line("ls certs/1.pem; cat certs/77.p*"), "certs/1.pem", "Permission denied", "and 994 more")
	p.rules, _ = permission.ParseList(permission.List{Deny: []string{"read"}}, permission.FromUser)
	p.says(p.line("ls"), "Nothing was run", "closes the whole folder")
	r, err := p.shell.Run(t.Context(), shell.Args{Command: "ls"}, p.env)
	p.says(fmt.Sprint(r.Text, err), "nobody said which files")
}

// BenchmarkALineAmongManyFiles runs a line in a folder of 50,000 files, of which rules close so many.
func BenchmarkALineAmongManyFiles(b *testing.B) {
	for _, n := range []int{0, 10, 100, 1000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			p := open(b)
			for i := range 2000 {
				for j := range 25 {
					name := fmt.Sprintf("d%d/d%d/file_%d.go", i/40, i, j)
					if i*25+j < n {
						name = fmt.Sprintf("d%d/d%d/file_%d.pem", i/40, i, j)
					}
					p.file(filepath.Join(p.dir, name), "")
				}
			}
			p.line("true")
			for b.Loop() {
				p.line("true")
			}
		})
	}
}
