package mirror

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/core"
	forgetting "loci/storage/forget"
)

func (h *house) forgetter() core.Forgetter { return forgetting.New(h.store, nil, History, nil) }

func TestWhatIsForgottenLeavesTheMirroredFilesAndTheRestIsNamed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.dir = filepath.Join(t.TempDir(), "Zanzibarowitz")
	human, named := h.block("human", "Ada"), h.block("zanzibarowitz", "a name")
	h.on()
	h.save("system/human.md", "Ada met Zanzibarowitz. By hand.\n")
	h.set(human.ID, "Ada met Zanzibarowitz. By the agent.")
	h.ticks(8) // until it rests
	if got := h.file("system/human.md") + h.file("system/human.conflict-1.md"); strings.Count(got, "Zanzibarowitz") != 2 {
		t.Fatalf("the files are %q", got)
	}
	done, err := h.forgetter().Forget(h.ctx, core.ForgetQuery{Text: "Zanzibarowitz", IgnoreCase: true})
	h.ok(err)
	for _, want := range []core.ForgetCopy{
		{Path: h.path("system/human.conflict-1.md"), Kind: core.CopyMirrored},
		{Path: h.dir, Kind: core.CopyGit},
		{Path: h.dir, Kind: core.CopyMirror},
		{Path: h.path("system/zanzibarowitz.md"), Kind: core.CopyMirror},
	} {
		if !slices.Contains(done.Copies, want) {
			t.Errorf("%+v is not named: %+v", want, done.Copies)
		}
	}
	for _, c := range done.Copies {
		if c.Path == h.path("system/human.md") {
			t.Errorf("a file that follows its block is named: %+v", c)
		}
	}
	h.ticks(3)
	same(t, "the file", true, strings.HasSuffix(h.file("system/human.md"), "\nAda met [forgotten]. By the agent.\n"))
	same(t, "the label", "forgotten", h.get(named.ID).Label)
	same(t, "what git holds now", "system/forgotten.md\nsystem/human.conflict-1.md\nsystem/human.md", h.git("ls-files"))
	_, err = h.mirrors.Off(h.ctx, h.agent)
	h.ok(err)
	plan, err := h.forgetter().Trace(h.ctx, core.ForgetQuery{Text: "Zanzibarowitz"})
	h.ok(err)
	if !slices.Contains(plan.Copies, core.ForgetCopy{Path: h.path("system/human.conflict-1.md"), Kind: core.CopyMirrored}) {
		t.Errorf("of a mirror that is off: %+v", plan.Copies)
	}
}

func TestAMirrorThatRestsFollowsWhatIsForgotten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada met Zanzibarowitz.")
	h.on()
	h.ticks(4) // until it rests
	h.ok(os.WriteFile(h.path("system/own.md"), []byte("Zanzibarowitz, by hand"), 0o600))
	done, err := h.forgetter().Forget(h.ctx, core.ForgetQuery{Text: "Zanzibarowitz"})
	h.ok(err)
	same(
		t,
		"what is named",
		[]core.ForgetCopy{{Path: h.dir, Kind: core.CopyGit}, {Path: h.path("system/own.md"), Kind: core.CopyMirrored}},
		done.Copies,
	)
	h.ok(os.Remove(h.path("system/own.md")))
	h.ticks(1)
	same(t, "the block", "Ada met [forgotten].", h.get(human.ID).Value)
	same(t, "the file", true, strings.HasSuffix(h.file("system/human.md"), "\nAda met [forgotten].\n"))
}

func TestGitIsNamedOnlyWhereItsHistoryHoldsWhatIsForgotten(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada met Zanzibarowitz.")
	h.on()
	h.ticks(4)
	h.set(human.ID, "Ada met nobody.")
	h.ticks(4)
	copies := func(text string) []core.ForgetCopy {
		plan, err := h.forgetter().Trace(h.ctx, core.ForgetQuery{Text: text, IgnoreCase: true})
		h.ok(err)
		return plan.Copies
	}
	_, err := h.forgetter().Forget(h.ctx, core.ForgetQuery{Text: "Zanzibarowitz"})
	h.ok(err)
	h.ticks(4)
	history := []core.ForgetCopy{{Path: h.dir, Kind: core.CopyGit}}
	same(t, "after it was forgotten", history, copies("zanzibarowitz"))
	same(t, "what was never said", []core.ForgetCopy(nil), copies("Quetzalcoatl"))
	h.git("update-ref", "-d", "refs/heads/"+newBranch)
	same(t, "what no branch leads to any more", history, copies("Zanzibarowitz"))
	h.ok(os.Rename(h.path(".git/objects"), h.path(".git/objects-gone")))
	same(t, "what git cannot say", []core.ForgetCopy{{Path: h.dir, Kind: core.CopyGit, Unknown: true}}, copies("Zanzibarowitz"))
}
