package follow

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// trees are .gitignore files by their place, and names to try them on.
var trees = map[string]struct {
	rules map[string]string
	names string
}{
	"plain names and endings": {
		map[string]string{"": "foo\n*.log\n!keep.log\n# comment\n\\#file\n\\!bang\n\n  \ntrail \\ \nspaced   \n"},
		"foo a/foo foobar a/x.log x.log keep.log a/keep.log #file !bang comment spaced trail",
	},
	"directories alone": {
		map[string]string{"": "build/\ndoc/out/\n/top/\n"},
		"build/x a/build/x b/build doc/out/x a/doc/out/x doc/outx top/x a/top/x a/top2/x",
	},
	"anchored": {
		map[string]string{"": "/foo\na/b\n/c/*.txt\n"},
		"foo x/foo a/b x/a/b c/1.txt c/d/1.txt a/bc x/c/1.txt",
	},
	"stars over directories": {
		map[string]string{"": "**/foo\na/**/z\nlogs/**\n**/deep/*.c\nx**y\nq/**/\n"},
		"foo a/foo b/c/foo a/z a/b/z a/b/c/z z logs/1 logs/a/2 other/logs/1 deep/1.c a/deep/1.c a/deep/b/1.c xy xaby a/xoy q/r/s q/t",
	},
	"negation under a directory that is left out": {
		map[string]string{"": "dir/*\n!dir/keep\nshut/\n!shut/keep\n"},
		"dir/keep dir/other shut/keep shut/other",
	},
	"files in other places": {
		map[string]string{"": "*.txt\n", "a": "!*.txt\n/only\n", "a/b": "c.txt\n"},
		"x.txt a/x.txt a/only a/b/only a/b/c.txt a/b/d.txt b/x.txt",
	},
	"sets and single characters": {
		map[string]string{"": "f?o\n[abc].c\n[!abc].h\n[a-c]x\n[]-]y\n[^0-9]z\n[[:digit:]]w\n[\\]]v\na[b\nt[+-9]u\n*[ab]*/k\n"},
		"foo fo f/o fxo a.c d.c a.h d.h ax dx ]y -y 1z az 1w aw ]v a[b t/u t0u t.u xax/k xx/k",
	},
	"slashes and stars that mean nothing": {
		map[string]string{"": "/\n//x\n*\\\nfoo//\n***\\a\n!\n\\\n"},
		"x foo/y a za\\ b",
	},
	"windows lines and a mark": {
		map[string]string{"": "\ufefffoo\r\n*.bak\r\n!x.bak\r\n"},
		"foo a.bak x.bak y",
	},
	"escapes": {
		map[string]string{"": "\\*star\na\\?b\n\\[x\\]\nback\\\\slash\ntail\\ \n"},
		"*star xstar a?b axb [x] x",
	},
	"all but some": {
		map[string]string{"": "/*\n!/src\n!*.md\n"},
		"a.txt readme.md src/a.txt src/b/c.txt docs/x.md",
	},
}

// listed is what a scan takes.
func listed(t *testing.T, dir string) []string {
	t.Helper()
	l, err := scan(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return slices.Sorted(maps.Keys(l.files))
}

func TestRulesLeaveOutWhatGitDoes(t *testing.T) {
	t.Parallel()
	git, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	for name, tree := range trees {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			run(t, git, dir, "init", "-q")
			for at, text := range tree.rules {
				put(t, filepath.Join(dir, at, ignoreFile), text)
			}
			for name := range strings.FieldsSeq(tree.names) {
				put(t, filepath.Join(dir, filepath.FromSlash(name)), "x")
			}
			var want []string
			for name := range bytes.SplitSeq(run(t, git, dir, "ls-files", "-z", "--others", "--exclude-standard"), []byte{0}) {
				if len(name) > 0 && filepath.Base(string(name)) != ignoreFile && !bytes.ContainsRune(name, '\\') {
					want = append(want, string(name))
				}
			}
			slices.Sort(want)
			if diff := cmp.Diff(want, listed(t, dir)); diff != "" {
				t.Errorf("git takes, we take (-git +ours):\n%s", diff)
			}
		})
	}
}

func TestRulesOfTheRepositoryAroundADirectoryHold(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put(t, filepath.Join(dir, ".git", "info", "exclude"), "private.txt\n")
	put(t, filepath.Join(dir, ignoreFile), "*.log\n/docs/build/\n/build/\n")
	put(t, filepath.Join(dir, "docs", ignoreFile), "!kept.log\n")
	for _, name := range []string{"a.txt", "x.log", "kept.log", "build/a.txt", "sub/build/b.txt", "private.txt"} {
		put(t, filepath.Join(dir, "docs", name), "x")
	}
	if diff := cmp.Diff([]string{"a.txt", "kept.log", "sub/build/b.txt"}, listed(t, filepath.Join(dir, "docs"))); diff != "" {
		t.Error(diff)
	}
}

func FuzzRulesNeverPanic(f *testing.F) {
	for _, tree := range trees {
		f.Add(tree.rules[""], tree.names)
	}
	f.Add("[[:alpha:]-z]\n[a-\n[\\\n", "a/b")
	f.Fuzz(func(t *testing.T, text, name string) {
		stack := []*rules{{list: parseRules([]byte(text))}}
		if ignored(stack, name, false) && len(stack[0].list) == 0 {
			t.Error("ignored without a rule")
		}
	})
}

func put(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(path); err == nil && info.IsDir() {
		return
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func run(t *testing.T, git, dir string, args ...string) []byte {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), git, args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null", "HOME="+dir)
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("git %v: %v", args, err)
	}
	return out
}
