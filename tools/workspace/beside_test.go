package workspace

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"loci/core"
)

// beside opens a folder with one file beside the workspace.
func beside(t *testing.T, writable bool) (p *place, dir string) {
	t.Helper()
	p = newPlace(t)
	dir, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "notes.txt"), []byte("one\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	p.env.Workspace.Dirs = []core.WorkspaceDir{{Path: dir, Writable: writable}}
	return p, dir
}

func TestAFolderBesideTheWorkspaceIsReadAndSearched(t *testing.T) {
	t.Parallel()
	p, dir := beside(t, false)
	file := filepath.Join(dir, "notes.txt")
	up, err := filepath.Rel(p.dir, file)
	if err != nil {
		t.Fatal(err)
	}
	p.says(p.read(file), "1\tone")
	p.says(p.read(up), "1\tone")
	p.says(p.list(dir), "notes.txt")
	for what, got := range map[string]string{
		"glob": p.glob("*.txt", dir), "glob by its pattern": p.glob(dir+"/*.txt", ""), "grep": p.grep(GrepArgs{Pattern: "one", Path: dir}),
	} {
		if !strings.HasPrefix(got, file) {
			t.Errorf("%s: %q does not name the file as it can be named again", what, got)
		}
	}
	for what, got := range map[string]string{"write": p.write(dir+"/new", "x"), "edit": p.edit(file, Edit{Old: "one", New: "two"})} {
		if !strings.Contains(got, "error: ") || !strings.Contains(got, "/add-dir "+dir+" --write") {
			t.Errorf("%s: %q", what, got)
		}
	}
	if got := p.read(filepath.Join(filepath.Dir(dir), "x")); !strings.Contains(got, "/add-dir") {
		t.Errorf("outside: %q", got)
	}
}

func TestWhatIsChangedBesideTheWorkspaceIsPutBack(t *testing.T) {
	t.Parallel()
	p, dir := beside(t, true)
	file := filepath.Join(dir, "notes.txt")
	p.says(p.edit(file, Edit{Old: "one", New: "two"}), "is changed")
	p.says(p.write(filepath.Join(dir, "a/new.txt"), "new\n"), "is made")
	if got, err := os.ReadFile(file); err != nil || string(got) != "two\n" {
		t.Fatalf("%q, %v", got, err)
	}
	for _, c := range p.changes {
		if c.Workspace != dir {
			t.Errorf("%s is recorded as a file of %s", c.Path, c.Workspace)
		}
	}
	r := Restorer{Contents: p}
	plan, err := r.Plan(t.Context(), p.newest())
	if err != nil || len(plan.Kept) > 0 {
		t.Fatal(plan, err)
	}
	if _, err := r.Apply(t.Context(), plan.Changes); err != nil {
		t.Fatal(err)
	}
	if got, err := os.ReadFile(file); err != nil || string(got) != "one\n" {
		t.Errorf("%q, %v", got, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "a")); !os.IsNotExist(err) {
		t.Errorf("a new folder is left: %v", err)
	}
}

func TestNothingIsPutBackThroughALinkInPlaceOfAFolder(t *testing.T) {
	t.Parallel()
	p, dir := beside(t, true)
	p.says(p.write(filepath.Join(dir, "new.txt"), "new\n"), "is made")
	other := t.TempDir()
	if err := os.WriteFile(filepath.Join(other, "new.txt"), []byte("new\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(dir, dir+".real"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, dir); err != nil {
		t.Fatal(err)
	}
	plan, err := Restorer{Contents: p}.Plan(t.Context(), p.newest())
	if err != nil || len(plan.Changes) > 0 || len(plan.Kept) != 1 || !strings.Contains(plan.Kept[0].Why, "it is a link now") {
		t.Errorf("%+v, %v", plan, err)
	}
}

func TestNothingLeadsOutOfAFolderBesideTheWorkspace(t *testing.T) {
	t.Parallel()
	p, dir := beside(t, true)
	other := t.TempDir()
	secret := filepath.Join(other, "secret.txt")
	if err := os.WriteFile(secret, []byte("canary"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, to := range map[string]string{"link": secret, "dir": other} {
		if err := os.Symlink(to, filepath.Join(dir, name)); err != nil {
			t.Fatal(err)
		}
	}
	tries := func() map[string]string {
		return map[string]string{
			"a link": p.read(dir + "/link"), "through one": p.read(dir + "/dir/secret.txt"),
			"up":      p.read(dir + "/../" + filepath.Base(other) + "/secret.txt"),
			"writing": p.write(dir+"/dir/new", "x"), "searching": p.grep(GrepArgs{Pattern: "canary", Path: dir}),
			"finding": p.glob("**/secret.txt", dir),
		}
	}
	for what, got := range tries() {
		if strings.Contains(got, "\tcanary") || strings.Contains(got, ":canary") || strings.Contains(got, "is made") ||
			strings.HasPrefix(got, secret) {
			t.Errorf("%s: %q", what, got)
		}
	}
	if err := os.Rename(dir, dir+"-moved"); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, dir); err != nil {
		t.Fatal(err)
	}
	if got := p.read(dir + "/secret.txt"); !strings.Contains(got, "leads through a link now") {
		t.Errorf("another folder in its place: %q", got)
	}
	if names, err := os.ReadDir(other); err != nil || len(names) != 1 {
		t.Errorf("outside: %v, %v", names, err)
	}
}
