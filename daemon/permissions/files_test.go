package permissions

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/permission"
)

// open returns files in a folder of their own, and a project.
func open(t *testing.T) (files *Files, project string) {
	t.Helper()
	dir := t.TempDir()
	project = filepath.Join(dir, "project")
	write(t, filepath.Join(project, "go.mod"), "")
	return New(Config{Own: filepath.Join(dir, "home", "permissions.toml"), System: filepath.Join(dir, "etc", "permissions.toml")}), project
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

// told writes rules as texts.
func told(rules []permission.Rule) []string {
	var out []string
	for _, r := range rules {
		out = append(out, fmt.Sprintf("%s %s: %s", r.Effect, r.Text, r.Source))
	}
	slices.Sort(out)
	return out
}

func TestRulesComeFromEveryFile(t *testing.T) {
	t.Parallel()
	f, project := open(t)
	write(t, f.cfg.System, `deny = ["shell(curl *)"]`)
	write(t, f.cfg.Own, `ask = ["fetch"]
[folders."`+project+`"]
allow = ["write(src/**)"]
[folders."/other"]
allow = ["shell"]
`)
	write(t, filepath.Join(project, ProjectFile), `deny = ["write(dist/**)"]`)
	rules, err := f.Rules(project)
	if err != nil {
		t.Fatal(err)
	}
	want := []string{
		"allow write(src/**): what you allowed for this folder", "ask fetch: your configuration", "deny shell(curl *): the system file",
		"deny write(dist/**): the project's file",
	}
	if diff := cmp.Diff(want, told(rules)); diff != "" {
		t.Errorf("in the folder (-want +got):\n%s", diff)
	}
	rules, err = f.Rules("")
	want = []string{"ask fetch: your configuration", "deny shell(curl *): the system file"}
	if diff := cmp.Diff(want, told(rules)); diff != "" || err != nil {
		t.Errorf("without a folder: %v (-want +got):\n%s", err, diff)
	}
}

func TestAProjectAllowsNothingAndItsDenialsCount(t *testing.T) {
	t.Parallel()
	f, project := open(t)
	write(t, filepath.Join(project, ProjectFile), "allow = [\"shell\"]\ndeny = [\"write(dist/**)\"]")
	listed, faults, err := f.List(project)
	if err != nil || len(listed) != 1 || len(faults) != 1 || !strings.Contains(faults[0], "only a person can allow") {
		t.Errorf("%v, %q, %v", told(listed), faults, err)
	}
	rules, err := f.Rules(project)
	if diff := cmp.Diff([]string{"deny write(dist/**): the project's file"}, told(rules)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
}

func TestWhatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no TOML": "deny = [", "a wrong rule": `deny = ["shell(rm"]`, "an unknown key": `forbid = ["shell"]`,
		"a wrong kind": `deny = "shell"`, "too large": "# " + strings.Repeat("x", maxFile),
	} {
		f, project := open(t)
		for _, path := range []string{f.cfg.System, f.cfg.Own, filepath.Join(project, ProjectFile)} {
			write(t, path, text)
			if rules, err := f.Rules(project); err == nil {
				t.Errorf("%s in %s: %v", name, filepath.Base(filepath.Dir(path)), told(rules))
			}
			if _, faults, err := f.List(project); err != nil || len(faults) == 0 {
				t.Errorf("%s in %s is not told: %v", name, filepath.Base(filepath.Dir(path)), err)
			}
			if err := os.Remove(path); err != nil {
				t.Fatal(err)
			}
		}
		write(t, f.cfg.Own, text)
		if name != "a wrong rule" {
			if err := f.Add(permission.Allow, "read", ""); err == nil {
				t.Errorf("%s: a file that can't be read was replaced", name)
			}
		}
	}
	f, project := open(t)
	if err := os.MkdirAll(filepath.Join(project, ProjectFile), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := f.Rules(project); err == nil {
		t.Error("a folder in place of the file is no error")
	}
	f, project = open(t)
	write(t, filepath.Join(project, ProjectFile), "[folders.\"/other\"]\ndeny = [\"shell\"]")
	if _, err := f.Rules(project); err == nil {
		t.Error("a project speaks of other folders")
	}
}

func TestRulesAreAddedAndRemoved(t *testing.T) {
	t.Parallel()
	f, project := open(t)
	for _, add := range []struct {
		effect permission.Effect
		rule   string
		folder string
	}{
		{permission.Allow, "shell(go test *)", project},
		{permission.Allow, "shell(go test *)", project},
		{permission.Deny, `read(we"ird\\/**)`, ""},
		{permission.Ask, "fetch", ""},
		{permission.Deny, "fetch", ""},
	} {
		if err := f.Add(add.effect, add.rule, add.folder); err != nil {
			t.Fatal(err)
		}
	}
	rules, err := f.Rules(project)
	want := []string{
		"allow shell(go test *): what you allowed for this folder", "deny fetch: your configuration",
		`deny read(we"ird\\/**): your configuration`,
	}
	if diff := cmp.Diff(want, told(rules)); diff != "" || err != nil {
		t.Errorf("%v (-want +got):\n%s", err, diff)
	}
	info, err := os.Stat(f.cfg.Own)
	if err != nil || info.Mode().Perm() != 0o600 {
		t.Errorf("the file is %v, %v", info.Mode(), err)
	}
	if err := f.Remove("fetch", project); core.KindOf(err) != core.NotFound {
		t.Errorf("a rule that is not the folder's: %v", err)
	}
	for _, remove := range []struct{ rule, folder string }{{"fetch", ""}, {`read(we"ird\\/**)`, ""}, {"shell(go test *)", project}} {
		if err := f.Remove(remove.rule, remove.folder); err != nil {
			t.Error(err)
		}
	}
	if rules, err := f.Rules(project); err != nil || len(rules) > 0 {
		t.Errorf("%v, %v", told(rules), err)
	}
	for name, err := range map[string]error{
		"a wrong rule":   f.Add(permission.Allow, "shell(", ""),
		"no effect":      f.Add("maybe", "shell", ""),
		"a short folder": f.Add(permission.Allow, "shell", "project"),
		"a crooked one":  f.Add(permission.Allow, "shell", project+"/../project"),
	} {
		if core.KindOf(err) != core.Invalid {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestRulesAddedAtOnceAreAllKept(t *testing.T) {
	t.Parallel()
	f, _ := open(t)
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			if err := f.Add(permission.Allow, fmt.Sprintf("shell(make %d)", i), ""); err != nil {
				t.Error(err)
			}
		})
	}
	all.Wait()
	if rules, err := f.Rules(""); err != nil || len(rules) != 20 {
		t.Errorf("%d rules, %v", len(rules), err)
	}
	left, err := filepath.Glob(filepath.Join(filepath.Dir(f.cfg.Own), ".permissions-*"))
	if err != nil || len(left) > 0 {
		t.Errorf("%v is left, %v", left, err)
	}
}
