package storagetest

import "loci/core"

func (h *home) workspaces() {
	a := h.agent("a")
	conv := h.conversation(a.ID, core.NewConversationID())
	if _, ok, err := h.s.Workspaces().Last(h.ctx); ok || err != nil {
		h.Fatal("an empty home knows a folder")
	}
	first := core.Workspace{Path: "/one", Agent: a.ID, Conversation: conv.ID, UsedAt: h.tick()}
	second := core.Workspace{Path: "/two", Agent: a.ID, Conversation: core.DefaultConversation(a.ID), UsedAt: h.tick()}
	h.ok(h.s.Workspaces().Put(h.ctx, first))
	h.ok(h.s.Workspaces().Put(h.ctx, second))
	last, _, err := h.s.Workspaces().Last(h.ctx)
	h.ok(err)
	equal(h, second, last)
	first.UsedAt = h.tick()
	h.ok(h.s.Workspaces().Put(h.ctx, first))
	last, _, err = h.s.Workspaces().Last(h.ctx)
	h.ok(err)
	equal(h, first, last)
	h.ok(h.s.Conversations().Delete(h.ctx, conv.ID))
	last, _, err = h.s.Workspaces().Find(h.ctx, "/one")
	h.ok(err)
	equal(h, core.DefaultConversation(a.ID), last.Conversation)
}

func (h *home) workspaceFiles() {
	a := h.agent("a")
	conv := core.DefaultConversation(a.ID)
	ws := h.s.Workspaces()
	if _, ok, err := ws.Read(h.ctx, conv, "/one/a.go"); ok || err != nil {
		h.Fatalf("a file is known that nobody read: %v", err)
	}
	read := core.FileRead{Conversation: conv, Path: "/one/a.go", Hash: "h1", At: h.tick()}
	h.ok(ws.NoteRead(h.ctx, read))
	got, _, err := ws.Read(h.ctx, conv, read.Path)
	h.ok(err)
	equal(h, read, got)
	run := h.run(a.ID, "")
	var steps []core.StepID
	for n := range 2 {
		step := core.Step{ID: core.NewStepID(), Run: run.ID, Agent: a.ID, Conversation: conv, Number: n + 1, Status: core.StepPending}
		h.ok(h.s.Steps().Create(h.ctx, &step))
		steps = append(steps, step.ID)
	}
	state := func(hash string) core.FileState { return core.FileState{Kind: core.PathFile, Mode: 0o640, Hash: hash} }
	change := func(step core.StepID, before, after string) core.FileChange {
		c := core.FileChange{
			Agent: a.ID, Conversation: conv, Run: "run", Step: step, Call: "call", Workspace: "/one", Path: "a.go", Before: state(before),
			After: state(after), Folders: 2, At: h.tick(),
		}
		h.ok(ws.NoteChange(h.ctx, &c))
		return c
	}
	first, second := change(steps[0], "h1", "h2"), change(steps[1], "h2", "h3")
	if got, _, err = ws.Read(h.ctx, conv, read.Path); err != nil || got.Hash != "h3" {
		h.Errorf("the agent's own change is not what it knows: %v, %v", got, err)
	}
	rewind := core.Rewind{ID: core.NewRewindID(), Agent: a.ID, Conversation: conv, Step: steps[1], Unfinished: true, CreatedAt: h.tick()}
	h.ok(h.s.Rewinds().Create(h.ctx, &rewind))
	made := []core.FileChange{{
		Agent: a.ID, Conversation: conv, Rewind: rewind.ID, Workspace: "/one", Path: "new", Before: state("h3"), At: h.tick(),
		Source: "a.example\nb.example",
	}}
	h.ok(ws.NoteChanges(h.ctx, made))
	if got, _, err = ws.Read(h.ctx, conv, read.Path); err != nil || got.Hash != "h3" {
		h.Errorf("what a rewind changed is known to the agent: %v, %v", got, err)
	}
	back := made[0]
	for _, c := range []struct {
		f    core.FileChanges
		want []core.FileChange
	}{
		{core.FileChanges{Since: core.RewindPoint{Rewind: rewind.ID}}, []core.FileChange{back}},
		{core.FileChanges{Rewind: rewind.ID}, []core.FileChange{back}},
		{core.FileChanges{Agent: a.ID, Older: back.Seq, Limit: 1}, []core.FileChange{second}},
		{core.FileChanges{Agent: a.ID}, []core.FileChange{back, second, first}},
		{core.FileChanges{Conversation: conv}, []core.FileChange{back, second, first}},
		{core.FileChanges{Step: steps[0]}, []core.FileChange{first}},
		{core.FileChanges{Since: core.RewindPoint{Step: steps[1]}}, []core.FileChange{back, second}},
		{core.FileChanges{Since: core.RewindPoint{Step: steps[0]}}, []core.FileChange{back, second, first}},
		{core.FileChanges{Downloaded: &core.FilePath{Workspace: "/one", Path: "new"}}, []core.FileChange{back}},
		{core.FileChanges{Downloaded: &core.FilePath{Workspace: "/one", Path: "a.go"}}, nil},
		{core.FileChanges{Downloaded: &core.FilePath{Workspace: "/two", Path: "new"}}, nil},
		{core.FileChanges{Agent: "agent-other"}, nil},
	} {
		equal(h, c.want, append([]core.FileChange(nil), must[[]core.FileChange](h)(ws.Changes(h.ctx, c.f))...))
	}
	unfinished := must[[]core.Rewind](h)(h.s.Rewinds().Unfinished(h.ctx))
	equal(h, []core.RewindID{rewind.ID}, []core.RewindID{unfinished[0].ID})
	files := core.FilesBack{Back: []string{"/one/new"}, Kept: []core.FileKept{{Path: "/one/b", Why: "somebody"}}, More: 3}
	h.ok(h.s.Rewinds().Finish(h.ctx, rewind.ID, files))
	equal(h, 0, len(must[[]core.Rewind](h)(h.s.Rewinds().Unfinished(h.ctx))))
	equal(h, files, must[core.Rewind](h)(h.s.Rewinds().Get(h.ctx, rewind.ID)).Files)
}
