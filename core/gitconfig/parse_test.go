package gitconfig_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"loci/core/gitconfig"
)

// asGit reads a configuration as git does, one setting a line; false: git refuses it.
func asGit(t *testing.T, text string) (string, bool) {
	t.Helper()
	program, err := exec.LookPath("git")
	if err != nil {
		t.Skip("git is not installed")
	}
	file := filepath.Join(t.TempDir(), "config")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), program, "config", "--list", "-z", "--file", file)
	cmd.Env = []string{"HOME=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	out, err := cmd.Output()
	var all strings.Builder
	for item := range strings.SplitSeq(string(out), "\x00") {
		if name, value, valued := strings.Cut(item, "\n"); valued {
			all.WriteString(name + "=" + value + "\x00")
		} else if name != "" {
			all.WriteString(name + "=true\x00")
		}
	}
	return all.String(), err == nil
}

func list(f *gitconfig.File) string {
	var all strings.Builder
	for _, s := range f.Settings() {
		all.WriteString(s.Name + "=" + s.Value + "\x00")
	}
	return all.String()
}

func texts() []string {
	return []string{
		"", "\n", "# only a comment", "[a]", "[a]\nb", "[a]\nb=", "[a] b = c", "[A]\nB-2 = C ", "[a]b=c\n[a]\n\tb = d",
		"\ufeff[a]\nb = c", "[a]\r\nb = c\r\n[d]\r\n\te = \"f\"\r\n", "[a \"B\"]\nc = d", "[a \"b.c\"]\nd = e",
		"[a \"\\\"q\\\\\"]\nd = e", "[a.B]\nc = d",
		"[remote \"origin\"]\n\turl = git@example.com:a/b.git\n\tfetch = +refs/heads/*:refs/remotes/origin/*\n",
		"[a]\nb = c # d\ne = f;g\nh = \"#i\" ;j\n", "[a]\nb = \"  c  \"  \nd =   e   f   \n", "[a]\nb = c\\\n d\n",
		"[a]\nb = c \\\n\n", "[a]\nb = \"\\t\\n\\\\\\\"\"\n", "[a]\nb = \"\" c\nd = \"\"\ne = x \"\" \nf = \"a\"b\"c\"\n",
		"[a]\nb = c\\b\n", "[a] ; x\n b=c", "[a]#b\nc=d", "[a]b[c]d=e", "[a]\nb c", "[a]\nb = \"c", "[a]\nb = \\x", "[a", "[a \"b]",
		"[a \"b\" ]", "[]", "b = c", "[a]\n=c", "[a]\n1=c", "[a]\nb = c\\", "[a]\nb = c # d\\\ne = f", "[a \"b\"]c=d",
		"[a]\n[b]\n[c]\nd=e", "[include]\npath = /x", "[a]\nb\n=c", "[a]\nb = c \\\n# d\n",
		"[core]\n\tbare = false\n\n; [x]\n\tfilemode", "[a \"\"]\nb=c",
	}
}

func TestAConfigurationIsReadAsGitReadsIt(t *testing.T) {
	t.Parallel()
	for _, text := range texts() {
		f, err := gitconfig.Parse(text)
		want, reads := asGit(t, text)
		switch {
		case err == nil && !reads:
			t.Errorf("%q is read, and not by git", text)
		case err == nil && list(f) != want:
			t.Errorf("%q is read as %q, by git as %q", text, list(f), want)
		case err != nil && reads && text != "b = c" && text != "[a]\nb = c\\": // which are hardly meant
			t.Errorf("%q is not read: %v; by git as %q", text, err, want)
		}
	}
}

func TestWhatIsNotObviousIsRefused(t *testing.T) {
	t.Parallel()
	for text, why := range map[string]string{
		"[a]\nb = c\x00":  "control characters",
		"[a]\nb = c\rd\n": "carriage return",
		"[a]\nb = \xff\n": "no UTF-8",
		"[a \"\\x\"]\n":   "escape that is none",
		"[a]\n\n]\n":      "line 3",
		"[a]\nb = c\\":    "goes on in none",
		strings.Repeat("[a]\n", gitconfig.MostBytes/4+1): "bytes",
		"[a]\n" + strings.Repeat("b\n", 10_001):          "more than 10000",
	} {
		if _, err := gitconfig.Parse(text); err == nil || !strings.Contains(err.Error(), why) {
			t.Errorf("%.20q: %v", text, err)
		}
	}
}

// FuzzParse looks for a text that is read and then not written again as it was read.
func FuzzParse(f *testing.F) {
	for _, text := range texts() {
		f.Add(text, "x \\\"#")
	}
	f.Fuzz(func(t *testing.T, text, value string) {
		file, err := gitconfig.Parse(text)
		if err != nil {
			return
		}
		if again, err := file.With(nil); err != nil || again != text {
			t.Fatalf("%q became %q: %v", text, again, err)
		}
		for _, s := range append(file.Settings(), gitconfig.Setting{Name: "new.sub.key", Key: "key"}) {
			changed, err := file.With([]gitconfig.Change{{Name: s.Name, Key: s.Key, Values: []string{value, "b"}}})
			if err != nil {
				continue // a value that can't be written
			}
			after, err := gitconfig.Parse(changed)
			if err != nil {
				t.Fatalf("%q became %q: %v", text, changed, err)
			}
			if d := gitconfig.Diff(file, after); len(d) > 1 || len(d) == 1 && d[0].Name != s.Name {
				t.Fatalf("%q became %q, in which more changed: %+v", text, changed, d)
			}
			gone, err := file.With([]gitconfig.Change{{Name: s.Name, Key: s.Key}})
			if err != nil || strings.Contains(list2(t, gone), "\x00"+s.Name+"=") {
				t.Fatalf("%q without %s is %q: %v", text, s.Name, gone, err)
			}
		}
	})
}

func list2(t *testing.T, text string) string {
	t.Helper()
	file, err := gitconfig.Parse(text)
	if err != nil {
		t.Fatalf("%q: %v", text, err)
	}
	return "\x00" + list(file)
}
