package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"loci/core"
)

// outside puts a secret beside the workspace, and links to it inside.
func outside(p *place) (secret string) {
	p.Helper()
	secret = filepath.Join(p.TempDir(), "secret.txt")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		p.Fatal(err)
	}
	up, err := filepath.Rel(p.dir, filepath.Dir(secret))
	if err != nil {
		p.Fatal(err)
	}
	for name, target := range map[string]string{
		"link": secret, "dir": filepath.Dir(secret), "up": up, "loop": "loop", "hop": "up", "in": "real.txt",
		"abs": filepath.Join(p.dir, "real.txt"), "git": ".git",
	} {
		if err := os.Symlink(target, filepath.Join(p.dir, name)); err != nil {
			p.Fatal(err)
		}
	}
	p.file("real.txt", "inside\n")
	p.file(".git/config", "[core]\n")
	return secret
}

func TestNoPathLeadsOutOfTheFolder(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	secret := outside(p)
	for _, path := range []string{
		"../x", "/etc/passwd", secret, "a/../../x", "link", "dir/secret.txt", "up/secret.txt", "hop/secret.txt", "loop", "up", "\x00",
		strings.Repeat("a/", 3000), "dir/new.txt", "./up/../up/secret.txt", p.dir + "-beside", filepath.Dir(p.dir),
	} {
		for what, got := range map[string]string{
			"read": p.read(path), "write": p.write(path, "owned"), "edit": p.edit(path, Edit{Old: "canary", New: "owned"}),
			"grep": p.grep(GrepArgs{Pattern: "canary", Path: path}), "glob": p.glob("*", path), "list": p.list(path),
		} {
			if !strings.HasPrefix(got, "error: ") || strings.Contains(got, "canary") {
				t.Errorf("%s %q: %q", what, path, got)
			}
		}
	}
	if got, err := os.ReadFile(secret); err != nil || string(got) != "canary" {
		t.Errorf("outside: %q, %v", got, err)
	}
	if names, err := os.ReadDir(filepath.Dir(secret)); err != nil || len(names) != 1 {
		t.Errorf("outside: %v, %v", names, err)
	}
	if got := p.grep(GrepArgs{Pattern: "canary"}); !strings.Contains(got, "No line") {
		t.Errorf("a search followed a link: %q", got)
	}
}

func TestPathsInsideOfTheFolderAreTakenInEveryForm(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	outside(p)
	for _, path := range []string{"real.txt", "./real.txt", "x/../real.txt", p.dir + "/real.txt", "in", "abs"} {
		p.says(p.read(path), "1\tinside")
	}
	p.says(p.edit("in", Edit{Old: "inside", New: "changed"}), "changed in 1 place")
	p.holds("real.txt", "changed\n")
	if info, err := os.Lstat(filepath.Join(p.dir, "in")); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link was replaced: %v, %v", info, err)
	}
}

func TestWhatBelongsToGitIsNeverChangedOrListed(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	outside(p)
	for _, path := range []string{".git/config", "git/config", ".git/hooks/pre-commit", ".GIT/config", "sub/.git/config", ".git"} {
		p.says(p.write(path, "x"), "error: ", "git itself")
		p.says(p.edit(path, Edit{Old: "[core]", New: "x"}), "error: ")
	}
	p.holds(".git/config", "[core]\n")
	got := p.list("") + p.glob("**", "") + p.grep(GrepArgs{Pattern: "core"})
	if strings.Contains(got, ".git/") || strings.Contains(got, ".git\n") {
		t.Errorf("listed: %q", got)
	}
}

func TestPipesSocketsAndDevicesAreRefusedAtOnce(t *testing.T) {
	t.Parallel()
	p := newPlace(t)
	if err := syscall.Mkfifo(filepath.Join(p.dir, "pipe"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.file("a.txt", "needle\n")
	p.says(p.read("pipe"), "error: ", "pipe")
	p.says(p.write("pipe", "x"), "error: ", "pipe")
	p.says(p.list(""), "pipe (no file)")
	p.says(p.grep(GrepArgs{Pattern: "needle"}), "a.txt\n1: needle")
	p.says(p.grep(GrepArgs{Pattern: "needle", Path: "pipe"}), "error: ", "neither a file nor a folder")
}

func FuzzPathsStayInside(f *testing.F) {
	for _, s := range []string{"a", "../a", "/a", "a/./../b", "x/y/../../..", "link/../..", "sub/link/secret.txt", "~", "a\x00b", "//a"} {
		f.Add(s)
	}
	base := f.TempDir()
	dir := filepath.Join(base, "ws")
	for _, d := range []string{dir, filepath.Join(dir, "sub")} {
		if err := os.MkdirAll(d, 0o700); err != nil {
			f.Fatal(err)
		}
	}
	if err := os.WriteFile(filepath.Join(base, "secret.txt"), []byte("canary"), 0o600); err != nil {
		f.Fatal(err)
	}
	for name, target := range map[string]string{"link": "..", "sub/link": "../..", "sub/in": "..", "x": base} {
		if err := os.Symlink(target, filepath.Join(dir, name)); err != nil {
			f.Fatal(err)
		}
	}
	root, err := os.OpenRoot(dir)
	if err != nil {
		f.Fatal(err)
	}
	fold := &folder{root: root, path: dir, real: dir}
	f.Fuzz(func(t *testing.T, name string) {
		rel, err := fold.resolve(name)
		if err != nil {
			if core.KindOf(err) != core.Invalid {
				t.Fatalf("%q: %v", name, err)
			}
			return
		}
		if !filepath.IsLocal(rel) {
			t.Fatalf("%q leads to %q", name, rel)
		}
		real, err := filepath.EvalSymlinks(filepath.Join(dir, rel))
		if inside, rerr := filepath.Rel(dir, real); err == nil && (rerr != nil || !filepath.IsLocal(inside)) {
			t.Fatalf("%q leads to %q", name, real)
		}
		if content, _, err := fold.load(rel, 100); err == nil && string(content) == "canary" {
			t.Fatalf("%q reads what is outside", name)
		}
	})
}
