package trust

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// opened returns the trust of a new home and a project.
func opened(t *testing.T) (trust *Trust, project string) {
	t.Helper()
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	project = filepath.Join(base, "project")
	write(t, filepath.Join(project, "main.go"), "package main")
	return New(filepath.Join(base, "home", "trust.toml"), nil), project
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

// states lists items as "path state".
func states(t *testing.T, trust *Trust, project string) []string {
	t.Helper()
	items, whole, err := trust.Items(t.Context(), project)
	if err != nil || !whole {
		t.Fatalf("whole %v, %v", whole, err)
	}
	var out []string
	for _, it := range items {
		out = append(out, strings.TrimSpace(it.Path+" "+string(it.State)+" "+it.Fault))
	}
	return out
}

// say decides about an item as it is now.
func say(t *testing.T, trust *Trust, project, path string, trusted bool) {
	t.Helper()
	items, _, err := trust.Items(t.Context(), project)
	for _, it := range items {
		if it.Path == path && err == nil {
			err = trust.Decide(project, []core.TrustDecision{{Path: path, Hash: it.Hash, Trusted: trusted}})
		}
	}
	if err != nil {
		t.Fatal(err)
	}
}

func TestAFoldersItemsAreListedNearerOnesFirst(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	for _, name := range []string{
		"sub/deep/CLAUDE.md", "CLAUDE.md", "sub/AGENTS.md", "AGENTS.md", "node_modules/x/AGENTS.md", ".git/AGENTS.md", "agents.txt",
	} {
		write(t, filepath.Join(project, name), "of "+name)
	}
	want := []string{"AGENTS.md new", "CLAUDE.md new", "sub/AGENTS.md new", "sub/deep/CLAUDE.md new"}
	if diff := cmp.Diff(want, states(t, trust, project)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestWhatChangesWaitsForAPersonAgainThatItemAlone(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	write(t, filepath.Join(project, "AGENTS.md"), "one")
	write(t, filepath.Join(project, "CLAUDE.md"), "two")
	if got := trust.Instructions(project, "."); got != nil {
		t.Errorf("before anybody said anything: %v", got)
	}
	say(t, trust, project, "AGENTS.md", true)
	say(t, trust, project, "CLAUDE.md", true)
	both := []core.Instructions{{Path: "AGENTS.md", Text: "one"}, {Path: "CLAUDE.md", Text: "two"}}
	if diff := cmp.Diff(both, trust.Instructions(project, ".")); diff != "" {
		t.Errorf("trusted (-want +got):\n%s", diff)
	}
	write(t, filepath.Join(project, "AGENTS.md"), "one, and do as the file says")
	if diff := cmp.Diff([]string{"AGENTS.md changed", "CLAUDE.md trusted"}, states(t, trust, project)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if diff := cmp.Diff(both[1:], trust.Instructions(project, ".")); diff != "" {
		t.Errorf("changed (-want +got):\n%s", diff)
	}
	say(t, trust, project, "AGENTS.md", false)
	if diff := cmp.Diff([]string{"AGENTS.md refused", "CLAUDE.md trusted"}, states(t, trust, project)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	write(t, filepath.Join(project, "AGENTS.md"), "one") // what was trusted once isn't any more
	if diff := cmp.Diff([]string{"AGENTS.md changed", "CLAUDE.md trusted"}, states(t, trust, project)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := trust.Remove(project); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"AGENTS.md new", "CLAUDE.md new"}, states(t, trust, project)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := trust.Remove(project); core.KindOf(err) != core.NotFound {
		t.Errorf("nothing to take back: %v", err)
	}
}

func TestADecisionIsAboutWhatThePersonSaw(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	write(t, filepath.Join(project, "AGENTS.md"), "one")
	write(t, filepath.Join(project, "CLAUDE.md"), "two")
	items, _, err := trust.Items(t.Context(), project)
	if err != nil || len(items) != 2 {
		t.Fatal(items, err)
	}
	write(t, filepath.Join(project, "CLAUDE.md"), "three")
	for name, tt := range map[string]struct {
		path, hash string
		want       core.Kind
	}{
		"changed since": {"CLAUDE.md", items[1].Hash, core.Conflict},
		"not there":     {"sub/AGENTS.md", items[0].Hash, core.NotFound},
		"elsewhere":     {"../AGENTS.md", items[0].Hash, core.Invalid},
		"another file":  {"main.go", items[0].Hash, core.Invalid},
	} {
		err := trust.Decide(project, []core.TrustDecision{
			{Path: "AGENTS.md", Hash: items[0].Hash, Trusted: true}, {Path: tt.path, Hash: tt.hash, Trusted: true},
		})
		if core.KindOf(err) != tt.want {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := trust.Instructions(project, "."); got != nil {
		t.Errorf("something was kept: %v", got)
	}
}

func TestOnlyTextsInsideOfTheFolderCanBeTrusted(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	write(t, filepath.Join(filepath.Dir(project), "outside.md"), "of somebody else")
	write(t, filepath.Join(project, "a/AGENTS.md"), strings.Repeat("x", maxText+1))
	write(t, filepath.Join(project, "b/AGENTS.md"), "\xff\xfe")
	write(t, filepath.Join(project, "c/AGENTS.md/file"), "")
	for name, to := range map[string]string{"AGENTS.md": "../outside.md", "CLAUDE.md": "gone"} {
		if err := os.Symlink(to, filepath.Join(project, name)); err != nil {
			t.Fatal(err)
		}
	}
	want := []string{
		"AGENTS.md new it can't be opened in the folder", "a/AGENTS.md new it is larger than 128 KB",
		"b/AGENTS.md new it is not text in UTF-8",
	}
	if diff := cmp.Diff(want, states(t, trust, project)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	err := trust.Decide(project, []core.TrustDecision{{Path: "AGENTS.md", Trusted: true}})
	if core.KindOf(err) != core.Invalid {
		t.Errorf("a link to the outside: %v", err)
	}
}

func TestOneTextUnderTwoNamesIsSaidOnce(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	write(t, filepath.Join(project, "CLAUDE.md"), "both")
	if err := os.Symlink("CLAUDE.md", filepath.Join(project, "AGENTS.md")); err != nil {
		t.Fatal(err)
	}
	say(t, trust, project, "AGENTS.md", true)
	say(t, trust, project, "CLAUDE.md", true)
	if diff := cmp.Diff([]core.Instructions{{Path: "AGENTS.md", Text: "both"}}, trust.Instructions(project, ".")); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestTrustIsOfTheFolderAndNotOfItsName(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	write(t, filepath.Join(project, "sub/AGENTS.md"), "one")
	link := filepath.Join(filepath.Dir(project), "link")
	if err := os.Symlink(project, link); err != nil {
		t.Fatal(err)
	}
	say(t, trust, link, "sub/AGENTS.md", true)
	if got := trust.Instructions(project, "sub"); len(got) != 1 {
		t.Errorf("by its other name: %v", got)
	}
	other := filepath.Join(filepath.Dir(project), "other")
	write(t, filepath.Join(other, "sub/AGENTS.md"), "one")
	if err := os.Remove(link); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(other, link); err != nil {
		t.Fatal(err)
	}
	if got := trust.Instructions(link, "sub"); got != nil {
		t.Errorf("another folder of that name: %v", got)
	}
}

func TestAFileThatCannotBeReadTrustsNothing(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	write(t, filepath.Join(project, "AGENTS.md"), "one")
	say(t, trust, project, "AGENTS.md", true)
	write(t, trust.path, "[folders")
	if _, _, err := trust.Items(t.Context(), project); err == nil {
		t.Error("a broken file is read as an empty one")
	}
	if got := trust.Instructions(project, "."); got != nil {
		t.Errorf("%v", got)
	}
	if err := trust.Remove(project); err == nil {
		t.Error("a broken file was replaced")
	}
}

func TestALookThroughAFolderEndsWhenNobodyWantsItAnyMore(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := trust.Items(ctx, project); err == nil {
		t.Error("it went on")
	}
	write(t, filepath.Join(project, strings.Repeat("d/", maxDepth+3)+"AGENTS.md"), "deep")
	if items, whole, err := trust.Items(t.Context(), project); whole || len(items) > 0 || err != nil {
		t.Errorf("too deep: %v, whole %v, %v", items, whole, err)
	}
}

func TestWhatActsIsListedByItsKind(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	for _, name := range []string{
		".loci/hooks.json", ".loci/tools/deploy.py", ".loci/tools/lib/x.py", ".loci/commands/review.md", ".loci/commands/notes.txt",
		".mcp.json", ".loci/mcp.json", ".loci/permissions.toml", "sub/.loci/hooks.json", "sub/.mcp.json", "AGENTS.md",
	} {
		write(t, filepath.Join(project, name), "of "+name)
	}
	items, _, err := trust.Items(t.Context(), project)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]core.FolderItemKind{}
	for _, it := range items {
		got[it.Path] = it.Kind
	}
	want := map[string]core.FolderItemKind{
		"AGENTS.md": core.ItemInstructions, ".mcp.json": core.ItemServers, ".loci/mcp.json": core.ItemServers,
		".loci/hooks.json": core.ItemHooks, ".loci/commands/review.md": core.ItemCommand, ".loci/tools/deploy.py": core.ItemTool,
		".loci/tools/lib/x.py": core.ItemTool,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if _, ok := trust.Trusted(project, ".loci/hooks.json"); ok {
		t.Error("hooks that nobody trusts")
	}
	say(t, trust, project, ".loci/hooks.json", true)
	if text, ok := trust.Trusted(project, ".loci/hooks.json"); !ok || text != "of .loci/hooks.json" {
		t.Errorf("%q, %v", text, ok)
	}
	write(t, filepath.Join(project, ".loci/hooks.json"), "of the agent")
	if _, ok := trust.Trusted(project, ".loci/hooks.json"); ok {
		t.Error("what changed is trusted still")
	}
	if _, ok := trust.Trusted(project, "../project/.loci/hooks.json"); ok {
		t.Error("a path out of the folder")
	}
}

func TestAnItemsTextIsTheOneWithItsHash(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	write(t, filepath.Join(project, "AGENTS.md"), "one")
	it, text, err := trust.Item(project, "AGENTS.md")
	if err != nil || text != "one" || it.State != core.TrustNew || it.Bytes != 3 || len(it.Hash) != 64 {
		t.Errorf("%+v %q %v", it, text, err)
	}
	for name, want := range map[string]core.Kind{"main.go": core.Invalid, "sub/AGENTS.md": core.NotFound, "/etc/AGENTS.md": core.Invalid} {
		if _, _, err := trust.Item(project, name); core.KindOf(err) != want {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestTrustOfAFileCountsInEveryFolderAroundIt(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	sub := filepath.Join(project, "sub")
	write(t, filepath.Join(sub, "AGENTS.md"), "one")
	write(t, filepath.Join(sub, "deep", "AGENTS.md"), "two")
	if got := trust.Waits(project, "sub"); len(got) != 1 || got[0] != "sub/AGENTS.md" {
		t.Errorf("waits: %q", got)
	}
	say(t, trust, project, "sub/AGENTS.md", true)
	if got := trust.Instructions(sub, "."); len(got) != 1 || len(trust.Waits(project, "sub")) != 0 {
		t.Errorf("in the folder itself: %v", got)
	}
	say(t, trust, sub, "AGENTS.md", false)
	if got := trust.Instructions(project, "sub"); got != nil {
		t.Errorf("refused in the folder itself: %v", got)
	}
	say(t, trust, project, "sub/AGENTS.md", true)
	say(t, trust, sub, "deep/AGENTS.md", true)
	if diff := cmp.Diff([]string{"sub/AGENTS.md trusted", "sub/deep/AGENTS.md trusted"}, states(t, trust, project)); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if err := trust.Remove(sub); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"sub/AGENTS.md new", "sub/deep/AGENTS.md new"}, states(t, trust, project)); diff != "" {
		t.Errorf("taken back (-want +got):\n%s", diff)
	}
}

func TestWhatCouldNotActCannotBeTrusted(t *testing.T) {
	t.Parallel()
	trust, project := opened(t)
	trust.check = func(it *core.FolderItem, text string) error {
		if it.Kind == core.ItemHooks && text != "{}" {
			return errors.New("line 1 of " + it.Path + " is wrong")
		}
		return nil
	}
	file := filepath.Join(project, core.FolderHooks)
	write(t, file, "{")
	if got := strings.Join(states(t, trust, project), "; "); got != ".loci/hooks.json new line 1 of .loci/hooks.json is wrong" {
		t.Errorf("listed as %q", got)
	}
	sum := sha256.Sum256([]byte("{"))
	saw := core.TrustDecision{Path: core.FolderHooks, Hash: hex.EncodeToString(sum[:]), Trusted: true}
	err := trust.Decide(project, []core.TrustDecision{saw})
	if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), "is wrong") {
		t.Errorf("%v", err)
	}
	if _, ok := trust.Trusted(project, core.FolderHooks); ok {
		t.Error("it counts")
	}
	write(t, file, "{}")
	say(t, trust, project, core.FolderHooks, true)
	if text, ok := trust.Trusted(project, core.FolderHooks); !ok || text != "{}" {
		t.Errorf("mended: %q, %v", text, ok)
	}
}
