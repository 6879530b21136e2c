package mirror

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/coretest"
	"loci/core/service"
)

func same(t *testing.T, what string, want, got any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Fatalf("%s (-want +got):\n%s", what, diff)
	}
}

func TestBlocksBecomeFilesAndEditsOfEitherSideReachTheOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human, deep := h.block("human", "Ada"), h.block("project/tools", "hammer")
	s := h.on()
	same(t, "blocks", 2, s.Blocks)
	same(t, "a file", "---\ndescription: \""+human.Description+"\"\nlimit: 100000\n---\n\nAda\n", h.file("system/human.md"))
	same(t, "git status", "", h.git("status", "--porcelain"))

	h.set(human.ID, "Ada Lovelace")
	h.save("system/project/tools.md", "---\ndescription: what we use\nlimit: 50\nread_only: true\n---\n\nsaw\n")
	same(t, "notes", []string{}, noted(h.sync()))
	if !strings.HasSuffix(h.file("system/human.md"), "\n\nAda Lovelace\n") {
		t.Errorf("the file is %q", h.file("system/human.md"))
	}
	b := h.get(deep.ID)
	same(t, "the block", []any{"saw", "what we use", 50, true}, []any{b.Value, b.Description, b.Limit, b.ReadOnly})
	versions, err := h.services.Blocks.Versions(h.ctx, deep.ID, core.Page{})
	h.ok(err)
	same(t, "its author", core.Author{Kind: core.AuthorUser, ID: service.MirrorAuthor}, versions[0].Author)
	same(t, "git status", "", h.git("status", "--porcelain"))
	same(t, "the author of commits", "Loci", h.git("log", "-1", "--format=%an"))

	// A value over the limit passes, as through the API; what only differs in the flag is followed too.
	h.save("system/project/tools.md", "---\ndescription: what we use\nlimit: 3\n---\n\nmuch more\n")
	h.sync()
	b = h.get(deep.ID)
	same(t, "the block", []any{"much more", 3, false}, []any{b.Value, b.Limit, b.ReadOnly})
	_, err = h.services.Blocks.Update(h.ctx, deep.ID, service.BlockPatch{ReadOnly: core.Opt[bool]{Present: true, Value: true}}, 0, "")
	h.ok(err)
	h.sync()
	if !strings.Contains(h.file("system/project/tools.md"), "read_only: true\n") {
		t.Errorf("the file is %q", h.file("system/project/tools.md"))
	}
}

func TestAnEditOnBothSidesIsKeptAsBothAndShownUntilResolved(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	h.set(human.ID, "from the block")
	h.save("system/human.md", "from the file\n")
	h.clashed(h.sync(), human.ID, "from the block", "from the file\n")
	if !strings.HasSuffix(h.file("system/human.md"), "\nfrom the block\n") {
		t.Errorf("the file is %q", h.file("system/human.md"))
	}
	// A second one does not touch the first.
	h.set(human.ID, "again from the block")
	h.save("system/human.md", "again from the file\n")
	same(t, "notes", 2, len(h.sync().Notes))
	same(t, "the first conflict", "from the file\n", h.file("system/human.conflict-1.md"))
	h.ok(os.Remove(h.path("system/human.conflict-1.md")))
	h.ok(os.Remove(h.path("system/human.conflict-2.md")))
	same(t, "notes", []string{}, noted(h.sync()))
	same(t, "git status", "", h.git("status", "--porcelain"))
	if log := h.git("log", "-p"); !strings.Contains(log, "+again from the file") || !strings.Contains(log, "+from the file") {
		t.Error("the conflicts' texts are not in the history")
	}
	// Both sides saying the same is none.
	h.set(human.ID, "alike")
	h.save("system/human.md", "alike\n")
	same(t, "notes", []string{}, noted(h.sync()))
}

func TestNothingIsUnlinkedBecauseAFileIsGone(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	h.ok(os.RemoveAll(h.path("system")))
	h.sync()
	if !strings.Contains(h.file("system/human.md"), "Ada") {
		t.Error("the file did not come back")
	}
	same(t, "the block", "Ada", h.get(human.ID).Value)

	// A detached block's file stays, edits in it go nowhere and are told, and it joins again.
	_, err := h.services.Agents.DetachBlock(h.ctx, h.agent, human.ID)
	h.ok(err)
	same(t, "notes", []string{"detached system/human.mdhuman"}, noted(h.sync()))
	h.save("system/human.md", "edited\n")
	s := h.sync()
	if !strings.Contains(s.Notes[0].Text, "goes nowhere") {
		t.Errorf("it says %q", s.Notes[0].Text)
	}
	_, err = h.services.Agents.AttachBlock(h.ctx, h.agent, human.ID)
	h.ok(err)
	same(t, "notes", []string{}, noted(h.sync()))
	same(t, "the block", "edited", h.get(human.ID).Value)

	// Another block of that label: the file's text is kept beside.
	_, err = h.services.Agents.DetachBlock(h.ctx, h.agent, human.ID)
	h.ok(err)
	h.sync()
	h.block("human", "another person")
	same(t, "notes", []string{"conflict system/human.conflict-1.mdhuman"}, noted(h.sync()))
	same(t, "the old block", "edited", h.get(human.ID).Value)
}

func TestANewFileBecomesABlock(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.block("human", "Ada")
	h.on()
	h.save("system/people/bob.md", "---\ndescription: a friend\n---\n\nBob\n")
	h.save("system/no label.md", "x\n")
	h.save("system/Human.md", "x\n")
	h.save("system/.hidden.md", "x\n")
	h.save("system/picture.png", "x")
	h.save("notes.md", "not a block\n")
	s := h.sync()
	same(t, "notes", []string{"skipped system/Human.mdHuman", "skipped system/no label.mdno label"}, noted(s))
	b, err := h.services.Blocks.ByLabel(h.ctx, h.agent, "people/bob")
	h.ok(err)
	same(t, "the block", []any{"Bob", "a friend", core.DefaultBlockLimit}, []any{b.Value, b.Description, b.Limit})
	same(t, "git status", "?? notes.md\n?? system/.hidden.md\n?? system/picture.png", h.git("status", "--porcelain"))
	same(t, "blocks", 2, h.sync().Blocks)
}

func TestABlockWithAnotherLabelMovesItsFile(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a, b := h.block("a", "text of a"), h.block("b", "text of b")
	h.on()
	relabel := func(id core.BlockID, label string) {
		t.Helper()
		_, err := h.services.Blocks.Update(h.ctx, id, service.BlockPatch{Label: core.Opt[string]{Present: true, Value: label}}, 0, "")
		h.ok(err)
	}
	relabel(a.ID, "c")
	h.save("system/a.md", "edited under the old name\n")
	h.save("system/c.md", "somebody else's\n")
	s := h.sync()
	same(t, "notes", []string{"conflict system/c.conflict-1.mdc"}, noted(s))
	same(t, "the block", "edited under the old name", h.get(a.ID).Value)
	same(t, "the file", "edited under the old name\n", h.file("system/c.md"))
	same(t, "the text that was there", "somebody else's\n", h.file("system/c.conflict-1.md"))
	h.ok(os.Remove(h.path("system/c.conflict-1.md")))

	// Two blocks that change names.
	relabel(a.ID, "x")
	relabel(b.ID, "c")
	relabel(a.ID, "b")
	same(t, "notes", []string{}, noted(h.sync()))
	same(t, "a", "edited under the old name", h.get(a.ID).Value)
	same(t, "b", "text of b", h.get(b.ID).Value)
	if !strings.Contains(h.file("system/b.md"), "edited under") || !strings.Contains(h.file("system/c.md"), "text of b") {
		t.Errorf("the files are %q and %q", h.file("system/b.md"), h.file("system/c.md"))
	}
	same(t, "files", "system/b.md\nsystem/c.md", h.git("ls-files"))
}

func TestAHostileFolderHarmsNobody(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	secret := filepath.Join(t.TempDir(), "secret")
	h.ok(os.WriteFile(secret, []byte("secret"), 0o600))
	h.ok(os.Symlink(secret, h.path("system/link.md")))
	h.ok(os.Symlink(filepath.Dir(secret), h.path("system/dir")))
	h.ok(makePipe(h.path("system/pipe.md")))
	h.save("system/broken.md", "---\nlimit: x\n---\n")
	h.save("system/binary.md", "\xff\xfe")
	h.ok(os.Truncate(h.path("system/binary.md"), maxFile+1))
	touched := filepath.Join(t.TempDir(), "touched")
	for _, hook := range []string{"post-commit", "pre-commit", "reference-transaction", "post-index-change", "fsmonitor"} {
		h.save(".git/hooks/"+hook, "#!/bin/sh\ntouch "+touched+"\n")
		h.ok(os.Chmod(h.path(".git/hooks/"+hook), 0o755))
	}
	h.save(".gitattributes", "*.md filter=evil diff=evil\n")
	h.save(
		".git/config",
		h.file(".git/config")+"[core]\n\thooksPath = "+h.path(".git/hooks")+"\n\tfsmonitor = "+h.path(".git/hooks/fsmonitor")+
			"\n\tpager = touch "+touched+"\n\teditor = touch "+touched+"\n[filter \"evil\"]\n\tclean = touch "+touched+
			"\n\tsmudge = touch "+touched+
			"\n[commit]\n\tgpgSign = true\n[gpg]\n\tprogram = "+h.path(".git/hooks/fsmonitor")+"\n[extensions]\n\tpartialClone = evil\n"+
			"[remote \"evil\"]\n\turl = \"ext::touch "+touched+"\"\n\tpromisor = true\n",
	)
	h.set(human.ID, "Ada Lovelace")
	s := h.sync()
	same(
		t,
		"notes",
		[]string{
			"unreadable system/binary.mdbinary",
			"unreadable system/broken.mdbroken",
			"unreadable system/link.mdlink",
			"unreadable system/pipe.mdpipe",
		},
		noted(s),
	)
	if _, err := os.Stat(touched); err == nil {
		t.Error("something of the folder's configuration was run")
	}
	if strings.Contains(h.git("log", "-p", "--no-textconv", "--no-ext-diff"), "secret") {
		t.Error("what a link points to was read")
	}
	// A block whose file would lie behind a link is refused alone.
	h.block("dir/x", "inside")
	s = h.sync()
	same(t, "blocks", 1, s.Blocks)
	if _, err := os.Stat(filepath.Join(filepath.Dir(secret), "x.md")); err == nil {
		t.Error("a file was written outside of the folder")
	}
}

func TestTheMirrorWaitsWhileAPersonIsInTheMiddleOfSomething(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	wait := func(what string) {
		t.Helper()
		h.set(human.ID, what)
		before := h.file("system/human.md")
		_, err := h.mirrors.Sync(h.ctx, h.agent)
		same(t, what, core.Conflict, core.KindOf(err))
		if core.HintOf(err) == "" {
			t.Errorf("%v says not what to do", err)
		}
		same(t, "the file", before, h.file("system/human.md"))
	}
	h.git("switch", "-q", "-c", "other")
	wait("another branch")
	h.git("switch", "-q", "main")
	h.git("switch", "-q", "--detach")
	wait("no branch")
	h.git("switch", "-q", "main")
	h.save(".git/MERGE_HEAD", h.git("rev-parse", "HEAD")+"\n")
	wait("a merge")
	h.ok(os.Remove(h.path(".git/MERGE_HEAD")))
	h.sync()
	if !strings.Contains(h.file("system/human.md"), "a merge") {
		t.Error("the mirror does not go on")
	}
}

func TestAPersonsOwnCommitsAndIndexStay(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	h.save("notes.txt", "mine\n")
	h.git("add", "notes.txt")
	h.save("system/human.md", "committed by hand\n")
	h.git("commit", "-qam", "mine")
	mine := h.git("rev-parse", "HEAD")
	h.sync()
	same(t, "the block", "committed by hand", h.get(human.ID).Value)
	same(t, "no commit is needed", mine, h.git("rev-parse", "HEAD"))

	h.save("other.txt", "staged\n")
	h.git("add", "other.txt")
	h.save("system/human.md", "only staged\n")
	h.git("add", "system/human.md")
	h.save("system/human.md", "and edited again\n")
	h.set(human.ID, "by the agent")
	h.sync()
	same(t, "what is staged", "only staged", h.git("show", ":system/human.md"))
	same(t, "what else is staged", "staged", h.git("show", ":other.txt"))
	same(t, "the conflict", "and edited again\n", h.file("system/human.conflict-1.md"))
	if h.git("merge-base", mine, "HEAD") != mine {
		t.Error("a commit of the person is lost")
	}
}

func TestWhichFoldersCanBeAMirror(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.block("human", "Ada")
	refuse := func(kind core.Kind, dir string) {
		t.Helper()
		_, err := h.mirrors.On(h.ctx, h.agent, dir)
		same(t, dir, kind, core.KindOf(err))
	}
	refuse(core.Invalid, "relative")
	h.save("main.go", "package main")
	refuse(core.Conflict, h.dir)
	h.ok(os.Remove(h.path("main.go")))
	h.save(".git", "gitdir: elsewhere")
	h.save("system/x.md", "x")
	refuse(core.Unsupported, h.dir)
	h.ok(os.Remove(h.path(".git")))
	h.on()
	first := h.agent
	h.agent = h.newAgent()
	refuse(core.Conflict, h.dir)
	h.ok(h.store.Agents().Delete(h.ctx, first))
	h.restart(nil)
	h.on() // a deleted agent holds nothing
	_, err := h.mirrors.Off(h.ctx, h.agent)
	h.ok(err)
	h.on()
	h.agent = h.newAgent()
	h.ok(h.store.Meta().Put(h.ctx, metaUUID, "another home"))
	h.restart(nil)
	other := filepath.Join(filepath.Dir(h.dir), "other")
	_, err = h.mirrors.On(h.ctx, h.agent, other)
	h.ok(err)
	refuse(core.Conflict, other+"2")
	if _, err := h.mirrors.Off(h.ctx, h.agent); err != nil {
		t.Fatal(err)
	}
	_, err = h.mirrors.Sync(h.ctx, h.agent)
	same(t, "a sync of none", core.NotFound, core.KindOf(err))
}

func TestAMirrorThatWasOffKnowsWhichSideWasEdited(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	a, b := h.block("a", "1"), h.block("b", "1")
	h.on()
	_, err := h.mirrors.Off(h.ctx, h.agent)
	h.ok(err)
	h.set(a.ID, "2")
	h.save("system/b.md", "2\n")
	h.restart(nil)
	same(t, "notes", []string{}, noted(h.on()))
	same(t, "a", "2", h.get(a.ID).Value)
	same(t, "b", "2", h.get(b.ID).Value)
}

func TestAnExistingMemoryIsAdopted(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.save("system/human.md", "---\ndescription: the person\n---\n\nGrace\n")
	h.save("system/persona.md", "I am terse.\n")
	h.save("system/memory_filesystem.md", "generated\n")
	h.save("system/project/go.md", "Go\n")
	h.save("system/same.md", "same\n")
	h.save("notes/long.md", "not in the prompt\n")
	human := h.block("human", "Ada")
	persona := h.block("persona", "")
	h.block("same", "same")
	got, err := h.mirrors.Import(h.ctx, h.agent, h.dir, false)
	h.ok(err)
	same(t, "import", core.MirrorImport{
		Made:   []string{"project/go"},
		Filled: []string{"persona"},
		Same:   []string{"same"},
		Kept:   []string{"human"},
		Notes: []core.MirrorNote{
			{Kind: core.MirrorSkipped, Path: generated, Label: "memory_filesystem", Text: "the file is nobody's memory"},
		},
	}, got)
	same(t, "human", "Ada", h.get(human.ID).Value)
	same(t, "persona", "I am terse.", h.get(persona.ID).Value)
	got, err = h.mirrors.Import(h.ctx, h.agent, h.dir, true)
	h.ok(err)
	same(t, "replaced", []string{"human"}, got.Replaced)
	same(t, "human", "Grace", h.get(human.ID).Value)
	if _, err := os.Stat(h.path(".git")); err == nil {
		t.Error("reading changed the folder")
	}
	s := h.on()
	same(t, "blocks", 4, s.Blocks)
	same(t, "notes", []string{}, noted(s))
	_, err = h.mirrors.Import(h.ctx, h.agent, t.TempDir(), false)
	same(t, "an empty folder", core.NotFound, core.KindOf(err))
}

func TestChangesOfEitherSideAreFollowed(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	human := h.block("human", "Ada")
	h.on()
	h.restart(nil)
	h.mirrors.Start(h.ctx)
	defer h.mirrors.Close()
	until := func(what string, seen func() bool) {
		t.Helper()
		coretest.Until(t, what, seen)
	}
	h.save("system/human.md", "by the person\n")
	until("the file's text in the block", func() bool { return h.get(human.ID).Value == "by the person" })
	h.set(human.ID, "by the agent")
	until("the block's text in the file", func() bool {
		data, _ := os.ReadFile(h.path("system/human.md"))
		return strings.HasSuffix(string(data), "by the agent\n")
	})
	h.ok(os.Remove(h.path("system/human.md")))
	until("the file again", func() bool {
		data, _ := os.ReadFile(h.path("system/human.md"))
		return strings.HasSuffix(string(data), "by the agent\n")
	})
	h.ok(os.Rename(h.dir, h.dir+"-away"))
	until("that the folder is gone", func() bool {
		s, err := h.mirrors.State(h.ctx, h.agent)
		return err == nil && core.KindOf(s.Err) == core.Unavailable
	})
	h.ok(os.Rename(h.dir+"-away", h.dir))
	h.set(human.ID, "afterwards")
	until("that it goes on", func() bool {
		s, err := h.mirrors.State(h.ctx, h.agent)
		data, _ := os.ReadFile(h.path("system/human.md"))
		return err == nil && s.Err == nil && strings.HasSuffix(string(data), "afterwards\n")
	})
	h.ok(h.store.Agents().Delete(h.ctx, h.agent))
	until("the end of a deleted agent's mirror", func() bool { return len(h.mirrors.States()) == 0 })
}

func TestWithoutGitTheMirrorSaysSo(t *testing.T) {
	t.Parallel()
	h := newHouse(t)
	h.mirrors = New(Config{Store: h.store, Services: h.services, Git: func() (string, error) {
		return "", core.E(core.Unsupported, "git is not installed").WithHint("install git")
	}})
	_, err := h.mirrors.On(h.ctx, h.agent, h.dir)
	same(t, "kind", core.Unsupported, core.KindOf(err))
	if _, err := os.Stat(h.dir); err == nil {
		t.Error("the folder was made")
	}
}
