package gitignore

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func TestThePatternsOfAFileDecideAsGitDocumentsThem(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		patterns, path string
		dir            bool
		want           bool
	}{
		{"*.log", "a/b.log", false, true},
		{"*.log\n!keep.log", "keep.log", false, false},
		{"/build", "build", true, true},
		{"/build", "a/build", true, false},
		{"build/", "a/build", true, true},
		{"build/", "build", false, false},
		{"a/**/b", "a/b", false, true},
		{"a/**/b", "a/x/y/b", false, true},
		{"a/**", "a", true, false},
		{"a/**", "a/x", false, true},
		{"**/x", "x", false, true},
		{"doc/*.txt", "doc/a/b.txt", false, false},
		{"# not this", "# not this", false, false},
		{`\#this`, "#this", false, true},
		{`\!this`, "!this", false, true},
		{"end ", "end", false, true},
		{`end\ `, "end ", false, true},
		{"crlf\r\nother\r", "crlf", false, true},
		{"[a-c]x", "bx", false, true},
		{"[!a-c]x", "bx", false, false},
		{"[]x]", "]", false, true},
		{"[[:digit:]]", "7", false, true},
		{"[", "[", false, false},
		{"/", "a", true, false},
		{"é", "é", false, true},
		{"?", "é", false, false},
	} {
		got, _ := Parse(c.patterns).Match(strings.Split(c.path, "/"), c.dir)
		if got != c.want {
			t.Errorf("%q ignores %q (folder %v): %v, want %v", c.patterns, c.path, c.dir, got, c.want)
		}
	}
}

func TestAHostilePatternIsMatchedInBoundedTime(t *testing.T) {
	t.Parallel()
	star := Parse(strings.Repeat("a*", 2000) + "b\n" + strings.Repeat("**/", 500) + "x")
	path := slices.Repeat([]string{strings.Repeat("a", 200)}, 200)
	if ignored, _ := star.Match(path, false); ignored {
		t.Error("it matched")
	}
}

// TestTheVerdictsAreThoseOfTheInstalledGit writes random trees with random patterns, nested ones too, and asks git.
func TestTheVerdictsAreThoseOfTheInstalledGit(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Fatal("git is not installed:", err)
	}
	for seed := range uint64(60) {
		rnd := rand.New(rand.NewPCG(seed, 13))
		root := t.TempDir()
		run(t, git, root, nil, "init", "-q")
		paths := plant(t, rnd, root)
		want := strings.Split(strings.TrimSuffix(run(t, git, root, []byte(strings.Join(paths, "\x00")+"\x00"),
			"check-ignore", "-z", "--stdin", "--no-index"), "\x00"), "\x00")
		for _, p := range paths {
			if got := verdict(t, root, p); got != slices.Contains(want, p) {
				t.Errorf("seed %d: %q ignored: %v, git says %v\n%s", seed, p, got, !got, patternsIn(t, root))
			}
		}
	}
}

// joined are stars behind letters: git's verdict on them depends on whether the letters are all that stands before.
var joined = regexp.MustCompile(`[^/]\*\*`)

// plant makes a tree with files of patterns and returns its paths.
func plant(t *testing.T, rnd *rand.Rand, root string) (paths []string) {
	t.Helper()
	names := []string{"a", "b", "ab", "a.c", "b.o", "Makefile", "x y", "é", "[z]", "#h", "!n", "build", "a-b", `q\`}
	pieces := []string{
		"a", "b", "*", "**", "?", "/", "!", "*.c", "*.o", "[ab]", "[!a]", "[a-", "build", "é", `\`, " ", "#", "a*b", "[[:alpha:]]",
		"/**/", "**/", "/**", "x y", `\#h`, `\!n`, "[]z]", `\[z\]`, "-", "***",
	}
	pick := func(from []string) string { return from[rnd.IntN(len(from))] }
	var grow func(dir string, depth int)
	grow = func(dir string, depth int) {
		full := filepath.Join(root, dir)
		if err := os.MkdirAll(full, 0o700); err != nil {
			t.Fatal(err)
		}
		if depth == 0 || rnd.IntN(3) == 0 {
			var text strings.Builder
			for range 1 + rnd.IntN(6) {
				pattern := ""
				for range 1 + rnd.IntN(4) {
					pattern += pick(pieces)
				}
				if !joined.MatchString(pattern) {
					text.WriteString(pattern + pick([]string{"\n", "\n", "\n", "/\n", " \n", "\r\n"}))
				}
			}
			if err := os.WriteFile(filepath.Join(full, ".gitignore"), []byte(text.String()), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		for range 5 {
			name := filepath.Join(dir, pick(names))
			if slices.Contains(paths, name) {
				continue
			}
			paths = append(paths, name)
			if depth < 3 && rnd.IntN(2) == 0 {
				grow(name, depth+1)
			} else if err := os.WriteFile(filepath.Join(root, name), nil, 0o600); err != nil {
				t.Fatal(err)
			}
		}
	}
	grow("", 0)
	return paths
}

// verdict asks the files of patterns from the deepest up, for every folder above the path first.
func verdict(t *testing.T, root, path string) bool {
	t.Helper()
	parts := strings.Split(path, "/")
	for n := 1; n <= len(parts); n++ {
		info, err := os.Lstat(filepath.Join(root, filepath.Join(parts[:n]...)))
		if err != nil {
			t.Fatal(err)
		}
		for from := n - 1; from >= 0; from-- {
			text, err := os.ReadFile(filepath.Join(root, filepath.Join(parts[:from]...), ".gitignore"))
			if err != nil {
				continue
			}
			ignored, decided := Parse(string(text)).Match(parts[from:n], info.IsDir())
			if ignored {
				return true
			}
			if decided {
				break
			}
		}
	}
	return false
}

func patternsIn(t *testing.T, root string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err == nil && d.Name() == ".gitignore" {
			text, err := os.ReadFile(path)
			b.WriteString(strings.TrimPrefix(path, root) + ":\n" + string(text))
			return err
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return b.String()
}

func run(t *testing.T, git, dir string, input []byte, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), git, args...)
	cmd.Dir, cmd.Stdin = dir, bytes.NewReader(input)
	cmd.Env = []string{"HOME=" + dir, "GIT_CONFIG_NOSYSTEM=1", "PATH=" + filepath.Dir(git)}
	out, err := cmd.Output()
	var exit *exec.ExitError
	if err != nil && (!errors.As(err, &exit) || exit.ExitCode() != 1) { // 1: nothing is ignored
		t.Fatalf("git %v: %v", args, err)
	}
	return string(out)
}
