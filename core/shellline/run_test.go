package shellline

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

// generator makes lines of few words, so that what is dangerous meets what is harmless.
type generator struct{ *rand.Rand }

func (g generator) of(choices ...string) string { return choices[g.IntN(len(choices))] }

func (g generator) word() string {
	return g.of("a", "b", "c.txt", "sub", "sub/d", "*", "*.txt", "./a", "'a'", `"b"`, "-", "--", "out", "1", "s/a/b/",
		"10,20p", "/a/p", ".", "HEAD",
		"$(touch out)", "`touch out`", `$'out'`, "$X", "{a,out}", "<(touch out)", "-o", "../canary", "a/../../canary", "~", "+%F",
		"=", "%n", "PATH")
}

func (g generator) option() string {
	return g.of("-n", "-r", "-o", "-oout", "-o out", "--output=out", "--outp=out", "-i", "-e", "-c", "-w", "-exec touch out ;",
		"-delete", "-fprint out", "-v",
		"-u", "-s", "-l", "-d", "--pre=touch", "-print", "-name a", "--check", "-C sub", "-c core.pager=touch", "--", "-T.",
		"-S1b", "--compress-program=touch",
		"-f a", "-E", "-x", "-t", "-k1", "-z", "--files", "-p", "-q", "-a", "--version", "-Oout", "-R", "-H.", "--in-place", "-ni", "-1")
}

func (g generator) command() string {
	names := []string{
		"rm", "touch", "tee", "cp", "mv", "sh -c", "eval", "xargs", "env", "timeout 1", "awk", "tar", "dd",
		"xxd", "split", "mkdir", "python3", "exec",
	}
	for name := range reading() {
		names = append(names, name)
	}
	slices.Sort(names)
	words := []string{names[g.IntN(len(names))]}
	if words[0] == "git" {
		words = append(words, g.of("status", "diff", "log", "show", "init", "add", "branch", "tag", "config", "commit", "grep", "stash"))
	}
	for range g.IntN(5) {
		if g.IntN(2) == 0 {
			words = append(words, g.option())
		} else {
			words = append(words, g.word())
		}
	}
	line := strings.Join(words, " ")
	switch g.IntN(14) {
	case 0:
		line += " " + g.of(">", ">>", "2>", "&>", ">|", "<>", "<", ">&", "<<<") + " " + g.word()
	case 1:
		line += " " + g.of(">/dev/null", "2>&1", "2>/dev/null", "< a", "<&-")
	case 2:
		line = g.of("X=1 ", "PATH=. ", "! ", "time ", "coproc ", "cd sub; ", "alias ls=touch; ", "ls() { touch out; }; ") + line
	}
	return line
}

func (g generator) line() string {
	line := g.command()
	for range g.IntN(3) {
		line = fmt.Sprintf(g.of("%s; %s", "%s | %s", "%s && %s", "%s || %s", "(%s; %s)", "{ %s; %s; }", "if %s; then %s; fi",
			"%s\n%s"), line, g.command())
	}
	return line
}

// tree describes everything below a folder: names, modes, times of change and contents.
func tree(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		content := []byte("")
		if d.Type().IsRegular() {
			if content, err = os.ReadFile(path); err != nil {
				return err
			}
		}
		fmt.Fprintf(&b, "%s %s %d %q\n", path, info.Mode(), info.ModTime().UnixNano(), content)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// house makes a folder with files in it, beside a canary.
func house(t *testing.T) (outer, inner string) {
	t.Helper()
	outer = t.TempDir()
	inner = filepath.Join(outer, "project")
	if err := os.MkdirAll(filepath.Join(inner, "sub"), 0o700); err != nil {
		t.Fatal(err)
	}
	for name, content := range map[string]string{
		"canary": "alive", "project/a": "1\n2\na b\n", "project/b": "2\n1\n", "project/c.txt": "x,y\n", "project/sub/d": "deep\n",
		"project/touch": "#!/bin/sh\n: > out\n",
	} {
		if err := os.WriteFile(filepath.Join(outer, name), []byte(content), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	return outer, inner
}

// run runs a line as the tool will: the parsed dialect, an empty environment, no start-up files.
func run(t *testing.T, line, dir string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, Dialect, "--noprofile", "--norc", "-c", line)
	cmd.Dir, cmd.Env = dir, []string{"PATH=/usr/bin:/bin", "GIT_OPTIONAL_LOCKS=0", "HOME=" + dir}
	cmd.Stdin, cmd.WaitDelay = bytes.NewReader([]byte("input\n")), time.Second
	_ = cmd.Run() // most lines fail; what they leave is what counts
}

func TestAFreeLineChangesNothing(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell to run them in")
	}
	wanted := 400
	if testing.Short() {
		wanted = 100
	}
	outer, inner := house(t)
	here := Folder{Root: inner, Dir: inner}
	before := tree(t, outer)
	g := generator{rand.New(rand.NewPCG(13, 7))}
	free, all := 0, 0
	for ; free < wanted; all++ {
		line := g.line()
		if strings.Contains(line, "tail") && strings.Contains(line, "-f") || !Parse(line, here).Free() {
			continue
		}
		free++
		run(t, line, inner)
		if after := tree(t, outer); after != before {
			t.Fatalf("%s\nwas free and changed\n%s\nto\n%s", line, before, after)
		}
	}
	t.Logf("%d of %d lines were free", free, all)
}

func TestALineThatIsNotFreeIsSeenToChangeSomething(t *testing.T) {
	t.Parallel()
	if runtime.GOOS == "windows" {
		t.Skip("there is no shell to run it in")
	}
	outer, inner := house(t)
	before := tree(t, outer)
	run(t, "sort a -o out", inner)
	if tree(t, outer) == before {
		t.Error("a file was written, and the test sees no change")
	}
}
