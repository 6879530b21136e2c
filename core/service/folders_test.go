package service

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/storage"
)

func TestAttachingAFolderGivesItsToolsAndOpensItsFirstFiles(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, storage.Config{})
	one, two := l.folder("one"), l.folder("two")
	var ids []core.FileID
	for i := range 5 {
		ids = append(ids, l.upload(one.ID, fmt.Sprintf("f%d.txt", i), fmt.Sprintf("Text %d.", i)).File.ID)
	}
	l.settled(one.ID)
	agent, err := l.Agents.Create(l.ctx, NewAgent{Name: "a", Extra: map[string]any{core.ExtraMaxFilesOpen: 3}}, nil)
	l.ok(err)
	plain := len(agent.Tools)
	tools, err := l.Agents.fileTools(l.ctx)
	l.ok(err)
	agent, err = l.Folders.Attach(l.ctx, agent.ID, one.ID, nil)
	l.ok(err)
	if len(agent.Tools) != plain+len(tools) {
		t.Errorf("%d tools, want %d more than %d", len(agent.Tools), len(tools), plain)
	}
	open := func() []core.FileID {
		t.Helper()
		got, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Open: core.Some(true)}, nil)
		l.ok(err)
		var out []core.FileID
		for _, f := range got.Files {
			if f.View == "" || f.Folder.Name != "one" {
				t.Errorf("an open file without a view: %+v", f)
			}
			out = append(out, f.File.ID)
		}
		return out
	}
	if got := open(); !slices.Equal(got, ids[:3]) {
		t.Errorf("open: %v, want the first three of %v", got, ids)
	}
	closed, err := l.Files.Open(l.ctx, agent.ID, ids[4], nil)
	if err != nil || len(closed) != 1 || !slices.Contains(open(), ids[4]) || len(open()) != 3 {
		t.Errorf("opening one more closed %q (%v), open: %v", closed, err, open())
	}
	l.ok(l.Files.Close(l.ctx, agent.ID, ids[4]))
	l.upload(one.ID, "late.txt", "Late text.")
	l.settled(one.ID)
	if len(open()) != 3 {
		t.Errorf("a new file is not opened where there is room: %v", open())
	}
	page, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Limit: 4}, nil)
	l.ok(err)
	rest, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Limit: 4, After: string(page.Files[3].File.ID)}, nil)
	l.ok(err)
	if !page.More || rest.More || len(rest.Files) != 2 {
		t.Errorf("pages of %d (more: %t) and %d (more: %t)", len(page.Files), page.More, len(rest.Files), rest.More)
	}
	shut, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Open: core.Some(false)}, nil)
	if err != nil || len(shut.Files) != 3 {
		t.Errorf("%d closed files (%v), want 3", len(shut.Files), err)
	}
	first := open()
	l.ok(l.Files.Close(l.ctx, agent.ID, first[1]))
	after, err := l.Files.OfAgent(l.ctx, agent.ID, AgentFilesQuery{Open: core.Some(true), After: string(first[1])}, nil)
	if err != nil || len(after.Files) != 1 || after.Files[0].File.ID != first[2] {
		t.Errorf("behind a file that was closed since: %+v (%v), want %s alone", after.Files, err, first[2])
	}
	if _, err := l.Files.OfAgent(
		l.ctx,
		agent.ID,
		AgentFilesQuery{Open: core.Some(true), After: "file-none"},
		nil,
	); core.KindOf(
		err,
	) != core.NotFound {
		t.Errorf("behind a file that never was: %v", err)
	}
	_, err = l.Files.Open(l.ctx, agent.ID, first[1], nil)
	l.ok(err)
	names, err := l.Files.CloseAll(l.ctx, agent.ID)
	if err != nil || len(names) != 3 || !strings.HasPrefix(names[0], "one/") || len(open()) != 0 {
		t.Errorf("closed %q (%v)", names, err)
	}
	other := l.upload(two.ID, "x.txt", "x").File
	if _, err := l.Files.Open(l.ctx, agent.ID, other.ID, nil); core.KindOf(err) != core.NotFound {
		t.Errorf("a file of a folder that is not attached: %v", err)
	}
	_, err = l.Folders.Attach(l.ctx, agent.ID, two.ID, nil)
	l.ok(err)
	agent, err = l.Folders.Detach(l.ctx, agent.ID, one.ID)
	if err != nil || len(agent.Tools) != plain+len(tools) {
		t.Errorf("%d tools with a folder left (%v)", len(agent.Tools), err)
	}
	l.ok(l.Folders.Delete(l.ctx, two.ID))
	if agent, err = l.Agents.Get(l.ctx, agent.ID); err != nil || len(agent.Tools) != plain {
		t.Errorf("%d tools without a folder (%v), want %d", len(agent.Tools), err, plain)
	}
}

func TestAnAgentIsMadeAndChangedWithItsFolders(t *testing.T) {
	t.Parallel()
	l := newLibrary(t, storage.Config{})
	one, two := l.folder("one"), l.folder("two")
	l.upload(one.ID, "a.txt", "Text.")
	agent, err := l.Agents.Create(l.ctx, NewAgent{Name: "a", FolderIDs: []core.FolderID{one.ID}}, nil)
	l.ok(err)
	folders := func() []string {
		t.Helper()
		list, err := l.Folders.OfAgent(l.ctx, agent.ID)
		l.ok(err)
		var out []string
		for _, f := range list {
			out = append(out, f.Name)
		}
		return out
	}
	opened, err := l.store.Files().Opened(l.ctx, agent.ID)
	if err != nil || len(opened) != 1 || !slices.Equal(folders(), []string{"one"}) {
		t.Errorf("opened %+v (%v), folders %q", opened, err, folders())
	}
	_, err = l.Agents.Update(l.ctx, agent.ID, AgentPatch{FolderIDs: core.Some([]core.FolderID{two.ID})}, nil)
	if err != nil || !slices.Equal(folders(), []string{"two"}) {
		t.Errorf("folders %q (%v)", folders(), err)
	}
	if _, err := l.Agents.Update(
		l.ctx,
		agent.ID,
		AgentPatch{FolderIDs: core.Some([]core.FolderID{core.NewFolderID()})},
		nil,
	); core.KindOf(
		err,
	) != core.NotFound {
		t.Errorf("a folder that does not exist: %v", err)
	}
	if !slices.Equal(folders(), []string{"two"}) {
		t.Errorf("what was refused changed the folders: %q", folders())
	}
	if _, err := l.Agents.Create(
		l.ctx,
		NewAgent{Name: "b", FolderIDs: []core.FolderID{core.NewFolderID()}},
		nil,
	); core.KindOf(
		err,
	) != core.NotFound {
		t.Errorf("an agent of a folder that does not exist: %v", err)
	}
}
