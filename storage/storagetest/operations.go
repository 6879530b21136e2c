package storagetest

import (
	"context"
	"errors"
	"time"

	"loci/core"
)

// The operations of each store, those that end a noun last. Every call makes its own arguments, because an operation is
// called many times and some of them set fields.

func (w *world) agentOps() []storeOp {
	made := core.Agent{ID: core.NewAgentID(), Name: "b", Type: core.AgentLettaV1, Tags: []string{"x", "z"}, CreatedAt: w.tick()}
	page := core.Page{After: string(w.a.ID), Before: string(w.a.ID)}
	return []storeOp{
		op("create agent", func(ctx context.Context, s core.Store) error { a := made; return s.Agents().Create(ctx, &a) }),
		reads("get agent", func(ctx context.Context, s core.Store) (core.Agent, error) { return s.Agents().Get(ctx, w.a.ID) }),
		op("update agent", func(ctx context.Context, s core.Store) error {
			a := w.a
			a.Name, a.Tags = "c", []string{"v", "w"}
			return s.Agents().Update(ctx, &a)
		}),
		op("finish run of agent", func(ctx context.Context, s core.Store) error {
			return s.Agents().Finished(ctx, w.a.ID, core.StopEndTurn, w.now, time.Second)
		}),
		reads("list agents", func(ctx context.Context, s core.Store) ([]core.Agent, error) {
			return s.Agents().List(ctx, core.AgentFilter{}, page)
		}),
		reads("count agents", func(ctx context.Context, s core.Store) (int, error) { return s.Agents().Count(ctx, core.AgentFilter{}) }),
		reads("list tags", func(ctx context.Context, s core.Store) ([]string, error) {
			return s.Agents().Tags(ctx, "", core.Page{})
		}),
		op("delete agent", func(ctx context.Context, s core.Store) error { return s.Agents().Delete(ctx, w.a.ID) }),
	}
}

func (w *world) blockOps() []storeOp {
	made := core.Block{ID: core.NewBlockID(), Label: "persona", Value: "v", Limit: 9, Tags: []string{"t", "u"}, CreatedAt: w.tick()}
	edit := w.block
	edit.Value, edit.Label, edit.Tags = "two", "people", []string{"t", "u"}
	return []storeOp{
		op("create block", func(ctx context.Context, s core.Store) error {
			b := made
			return s.Blocks().Create(ctx, &b, core.Author{})
		}),
		reads("get block", func(ctx context.Context, s core.Store) (core.Block, error) { return s.Blocks().Get(ctx, w.block.ID) }),
		whole("update block", func(ctx context.Context, s core.Store) error {
			b := edit
			err := s.Blocks().Update(ctx, &b, core.Author{})
			if err != nil && b.Version != edit.Version {
				w.Errorf("an edit that failed has version %d", b.Version) // the next try would be a conflict
			}
			return err
		}),
		reads("list blocks", func(ctx context.Context, s core.Store) ([]core.Block, error) {
			return s.Blocks().List(ctx, core.BlockFilter{}, core.Page{After: string(w.block.ID)})
		}),
		reads("count blocks", func(ctx context.Context, s core.Store) (int, error) { return s.Blocks().Count(ctx, core.BlockFilter{}) }),
		op("attach block", func(ctx context.Context, s core.Store) error { return s.Blocks().Attach(ctx, w.a.ID, made.ID) }),
		reads("list blocks of agent", func(ctx context.Context, s core.Store) ([]core.Block, error) {
			return s.Blocks().OfAgent(ctx, w.a.ID)
		}),
		reads("get block by label", func(ctx context.Context, s core.Store) (core.Block, error) {
			return s.Blocks().ByLabel(ctx, w.a.ID, "people")
		}),
		reads("list agents of block", func(ctx context.Context, s core.Store) ([]core.AgentID, error) {
			return s.Blocks().AgentsOf(ctx, w.block.ID)
		}),
		reads("get version", func(ctx context.Context, s core.Store) (core.BlockVersion, error) {
			return s.Blocks().Version(ctx, w.block.ID, 1)
		}),
		reads("list versions", func(ctx context.Context, s core.Store) ([]core.BlockVersion, error) {
			return s.Blocks().Versions(ctx, w.block.ID, core.Page{After: "2", Before: "1"})
		}),
		reads("lineage", func(ctx context.Context, s core.Store) ([]core.VersionLink, error) {
			return s.Blocks().Lineage(ctx, w.block.ID)
		}),
		reads("stamp", func(ctx context.Context, s core.Store) (string, error) { return s.Mirrors().Stamp(ctx, w.a.ID) }),
		op("detach block", func(ctx context.Context, s core.Store) error { return s.Blocks().Detach(ctx, w.a.ID, made.ID) }),
		op("delete block", func(ctx context.Context, s core.Store) error { return s.Blocks().Delete(ctx, w.block.ID) }),
		whole("revive block", func(ctx context.Context, s core.Store) error {
			_, err := s.Blocks().Revive(ctx, w.block.ID, 1, core.Author{Restores: 1})
			return err
		}),
	}
}

func (w *world) messageOps() []storeOp {
	fork := w.conversation(w.a.ID, core.NewConversationID())
	first, hidden := w.newMessage(w.a.ID, w.conv, core.RoleSystem, "four"), w.newMessage(w.a.ID, fork.ID, core.RoleUser, "five")
	spoken := w.newMessage(w.a.ID, w.conv, core.RoleUser, "six")
	hidden.Hidden = core.HiddenRecall
	made := core.Conversation{ID: core.NewConversationID(), Agent: w.a.ID, CreatedAt: w.tick()}
	ids := []core.MessageID{w.said[0].ID, w.said[1].ID}
	of := core.MessageFilter{Conversation: w.conv}
	page := core.Page{After: string(ids[0]), Before: string(ids[1])}
	return []storeOp{
		whole("insert messages", func(ctx context.Context, s core.Store) error {
			a, b, c := first, hidden, spoken
			return s.Messages().Insert(ctx, &a, &b, &c)
		}),
		reads("get message", func(ctx context.Context, s core.Store) (core.Message, error) { return s.Messages().Get(ctx, ids[0]) }),
		reads("list all messages", func(ctx context.Context, s core.Store) ([]core.Message, error) {
			return s.Messages().List(ctx, core.MessageFilter{}, page)
		}),
		reads("list messages", func(ctx context.Context, s core.Store) ([]core.Message, error) {
			return s.Messages().List(ctx, of, page)
		}),
		whole("enter", func(ctx context.Context, s core.Store) error { return s.Messages().Enter(ctx, fork.ID, 1, ids, nil) }),
		op("enter first", func(ctx context.Context, s core.Store) error {
			return s.Messages().EnterFirst(ctx, w.conv, 1, first.ID)
		}),
		op("set text", func(ctx context.Context, s core.Store) error { return s.Messages().SetText(ctx, ids[0], "other") }),
		whole("leave", func(ctx context.Context, s core.Store) error {
			return s.Messages().Leave(ctx, w.conv, 9, core.LeftReset, ids)
		}),
		whole("restore", func(ctx context.Context, s core.Store) error { return s.Messages().Restore(ctx, w.conv, 10, 1) }),
		reads("context", func(ctx context.Context, s core.Store) ([]core.InContext, error) {
			return s.Messages().Context(ctx, w.conv)
		}),
		reads("context at", func(ctx context.Context, s core.Store) ([]core.InContext, error) {
			return s.Messages().ContextAt(ctx, w.conv, 2)
		}),
		reads("ids", func(ctx context.Context, s core.Store) ([]core.MessageID, error) {
			return s.Messages().ContextIDs(ctx, w.conv)
		}),
		reads("newest", func(ctx context.Context, s core.Store) ([]core.Message, error) {
			return s.Messages().Newest(ctx, of, 99, 9)
		}),
		reads("among", func(ctx context.Context, s core.Store) ([]core.Message, error) {
			return s.Messages().Among(ctx, of, ids)
		}),
		op("create conversation", func(ctx context.Context, s core.Store) error { c := made; return s.Conversations().Create(ctx, &c) }),
		reads("get conversation", func(ctx context.Context, s core.Store) (core.Conversation, error) {
			return s.Conversations().Get(ctx, fork.ID)
		}),
		op("update conversation", func(ctx context.Context, s core.Store) error {
			c := fork
			c.Summary = "other"
			return s.Conversations().Update(ctx, &c)
		}),
		reads("list conversations", func(ctx context.Context, s core.Store) ([]core.Conversation, error) {
			return s.Conversations().List(ctx, core.ConversationFilter{}, core.Page{After: string(fork.ID)})
		}),
		op("mark stale", func(ctx context.Context, s core.Store) error { return s.Conversations().MarkStale(ctx, w.a.ID) }),
		reads("last message", func(ctx context.Context, s core.Store) (time.Time, error) {
			return s.Conversations().LastMessage(ctx, w.conv)
		}),
		op("delete conversation", func(ctx context.Context, s core.Store) error { return s.Conversations().Delete(ctx, fork.ID) }),
	}
}

func (w *world) runOps() []storeOp {
	made := core.Run{ID: core.NewRunID(), Agent: w.a.ID, Conversation: w.conv, Status: core.RunCreated, Request: "r", CreatedAt: w.tick()}
	step := core.Step{ID: core.NewStepID(), Run: w.run.ID, Agent: w.a.ID, Conversation: w.conv, Number: 2, CreatedAt: w.tick()}
	return []storeOp{
		op("create run", func(ctx context.Context, s core.Store) error { r := made; return s.Runs().Create(ctx, &r) }),
		reads("get run", func(ctx context.Context, s core.Store) (core.Run, error) { return s.Runs().Get(ctx, w.run.ID) }),
		op("update run", func(ctx context.Context, s core.Store) error {
			r := made
			r.Status = core.RunCompleted
			return s.Runs().Update(ctx, &r)
		}),
		reads("list runs", func(ctx context.Context, s core.Store) ([]core.Run, error) {
			return s.Runs().List(ctx, core.RunFilter{}, core.Page{After: string(w.run.ID)})
		}),
		reads("find request", func(ctx context.Context, s core.Store) (core.Run, error) {
			r, _, err := s.Runs().FindRequest(ctx, w.conv, "request")
			return r, err
		}),
		reads("unfinished", func(ctx context.Context, s core.Store) ([]core.Run, error) { return s.Runs().Unfinished(ctx) }),
		reads("usage", func(ctx context.Context, s core.Store) (core.Usage, error) {
			u, _, err := s.Runs().Usage(ctx, w.run.ID)
			return u, err
		}),
		op("create step", func(ctx context.Context, s core.Store) error { st := step; return s.Steps().Create(ctx, &st) }),
		reads("get step", func(ctx context.Context, s core.Store) (core.Step, error) { return s.Steps().Get(ctx, w.step.ID) }),
		op("update step", func(ctx context.Context, s core.Store) error {
			st := w.step
			st.Feedback = "positive"
			return s.Steps().Update(ctx, &st)
		}),
		reads("list steps", func(ctx context.Context, s core.Store) ([]core.Step, error) {
			return s.Steps().List(ctx, core.StepFilter{}, core.Page{After: string(w.step.ID)})
		}),
		op("delete run", func(ctx context.Context, s core.Store) error { return s.Runs().Delete(ctx, w.run.ID) }),
	}
}

func (w *world) archiveOps() []storeOp {
	made := core.Archive{ID: core.NewArchiveID(), Name: "b", CreatedAt: w.tick()}
	b := w.agent("b")
	return []storeOp{
		op("create archive", func(ctx context.Context, s core.Store) error { a := made; return s.Archives().Create(ctx, &a) }),
		reads("get archive", func(ctx context.Context, s core.Store) (core.Archive, error) {
			return s.Archives().Get(ctx, w.archive.ID)
		}),
		op("update archive", func(ctx context.Context, s core.Store) error {
			a := w.archive
			a.Name, a.Embedding = "other", "m/other"
			return s.Archives().Update(ctx, &a)
		}),
		reads("list archives", func(ctx context.Context, s core.Store) ([]core.Archive, error) {
			return s.Archives().List(ctx, "", "", core.Page{After: string(w.archive.ID)})
		}),
		reads("archive of agent", func(ctx context.Context, s core.Store) (core.Archive, error) {
			a, _, err := s.Archives().OfAgent(ctx, w.a.ID)
			return a, err
		}),
		op("attach archive", func(ctx context.Context, s core.Store) error { return s.Archives().Attach(ctx, b.ID, made.ID) }),
		reads("agents of archive", func(ctx context.Context, s core.Store) ([]core.AgentID, error) {
			return s.Archives().AgentsOf(ctx, made.ID)
		}),
		op("detach archive", func(ctx context.Context, s core.Store) error { return s.Archives().Detach(ctx, b.ID, made.ID) }),
		op("delete archive", func(ctx context.Context, s core.Store) error { return s.Archives().Delete(ctx, w.archive.ID) }),
	}
}

func (w *world) passageOps() []storeOp {
	one := core.Passage{ID: core.NewPassageID(), Archive: w.archive.ID, Text: "hill", Tags: []string{"t", "v"}, CreatedAt: w.tick()}
	two := core.Passage{ID: core.NewPassageID(), Archive: w.archive.ID, Text: "boat", Tags: []string{"v"}, CreatedAt: w.tick()}
	of := core.PassageFilter{Archives: []core.ArchiveID{w.archive.ID}}
	archive := w.archive
	archive.Embedding = "m/other"
	w.ok(w.s.Archives().Update(w.ctx, &archive))
	return []storeOp{
		whole("insert passages", func(ctx context.Context, s core.Store) error {
			p, q := one, two
			return s.Passages().Insert(ctx, &p, &q)
		}),
		reads("get passage", func(ctx context.Context, s core.Store) (core.Passage, error) { return s.Passages().Get(ctx, one.ID) }),
		whole("update passage", func(ctx context.Context, s core.Store) error {
			p := one
			p.Text, p.Tags = "other", []string{"w"}
			return s.Passages().Update(ctx, &p, core.Author{})
		}),
		whole("retire passage", func(ctx context.Context, s core.Store) error { return s.Passages().Retire(ctx, one.ID, core.Author{}) }),
		whole("restore passage", func(ctx context.Context, s core.Store) error {
			return s.Passages().Restore(ctx, one.ID, 2, core.Author{})
		}),
		reads("get passage version", func(ctx context.Context, s core.Store) (core.PassageVersion, error) {
			return s.Passages().Version(ctx, two.ID, 1)
		}),
		reads("list passage versions", func(ctx context.Context, s core.Store) ([]core.PassageVersion, error) {
			return s.Passages().Versions(ctx, one.ID, core.Page{After: "4", Before: "1"})
		}),
		reads("passage lineage", func(ctx context.Context, s core.Store) ([]core.VersionLink, error) {
			return s.Passages().Lineage(ctx, one.ID)
		}),
		reads("changes of passages", func(ctx context.Context, s core.Store) ([]core.PassageVersion, error) {
			return s.Passages().Changes(ctx, core.PassageChanges{Archive: w.archive.ID})
		}),
		reads("list passages", func(ctx context.Context, s core.Store) ([]core.Passage, error) {
			return s.Passages().List(ctx, of, core.Page{After: string(one.ID)})
		}),
		reads("among", func(ctx context.Context, s core.Store) ([]core.Passage, error) {
			return s.Passages().Among(ctx, of, []core.PassageID{one.ID})
		}),
		reads("top tags", func(ctx context.Context, s core.Store) ([]core.TagCount, error) {
			return s.Passages().TopTags(ctx, w.archive.ID, 3)
		}),
		reads("waiting", func(ctx context.Context, s core.Store) ([]core.EmbeddingTask, error) {
			return s.Vectors().Waiting(ctx, 0, 99)
		}),
		whole("put vectors", func(ctx context.Context, s core.Store) error {
			waiting, err := s.Vectors().Waiting(ctx, 0, 99)
			done := make([]core.EmbeddingResult, len(waiting))
			for i, u := range waiting {
				done[i] = core.EmbeddingResult{EmbeddingTask: u, Vector: []float32{1, 0}}
			}
			return errors.Join(err, s.Vectors().Put(ctx, done...))
		}),
		whole("move archive", func(ctx context.Context, s core.Store) error { _, err := s.Vectors().Move(ctx, 1); return err }),
		whole("end the move", func(ctx context.Context, s core.Store) error { _, err := s.Vectors().Move(ctx, 99); return err }),
		reads("progress", func(ctx context.Context, s core.Store) (core.VectorProgress, error) { return s.Vectors().Progress(ctx) }),
		reads("made", func(ctx context.Context, s core.Store) ([]core.VectorCount, error) { return s.Vectors().Made(ctx) }),
		whole("delete passage", func(ctx context.Context, s core.Store) error { return s.Passages().Delete(ctx, one.ID) }),
		whole("revive passage", func(ctx context.Context, s core.Store) error { return s.Passages().Revive(ctx, one.ID) }),
	}
}

func (w *world) folderOps() []storeOp {
	made := core.Folder{ID: core.NewFolderID(), Name: "b", CreatedAt: w.tick()}
	return []storeOp{
		whole("create folder", func(ctx context.Context, s core.Store) error { f := made; return s.Folders().Create(ctx, &f) }),
		reads("get folder", func(ctx context.Context, s core.Store) (core.Folder, error) { return s.Folders().Get(ctx, made.ID) }),
		whole("update folder", func(ctx context.Context, s core.Store) error {
			f := w.folder
			f.Name, f.Embedding = "other", "m/other"
			return s.Folders().Update(ctx, &f)
		}),
		reads("list folders", func(ctx context.Context, s core.Store) ([]core.Folder, error) {
			return s.Folders().List(ctx, core.FolderFilter{}, core.Page{After: string(made.ID)})
		}),
		reads("count folders", func(ctx context.Context, s core.Store) (int, error) {
			return s.Folders().Count(ctx, core.FolderFilter{})
		}),
		op("attach folder", func(ctx context.Context, s core.Store) error { return s.Folders().Attach(ctx, w.a.ID, made.ID) }),
		reads("folders of agent", func(ctx context.Context, s core.Store) ([]core.Folder, error) {
			return s.Folders().OfAgent(ctx, w.a.ID)
		}),
		reads("agents of folder", func(ctx context.Context, s core.Store) ([]core.AgentID, error) {
			return s.Folders().AgentsOf(ctx, made.ID)
		}),
		op("detach folder", func(ctx context.Context, s core.Store) error { return s.Folders().Detach(ctx, w.a.ID, made.ID) }),
		whole("delete folder", func(ctx context.Context, s core.Store) error { return s.Folders().Delete(ctx, w.folder.ID) }),
	}
}

func (w *world) fileOps() []storeOp {
	file := core.File{ID: core.NewFileID(), Folder: w.folder.ID, Name: "h.txt", Size: 3, Status: core.FilePending, CreatedAt: w.tick()}
	failed, ids := w.file, []core.FileID{w.file.ID}
	failed.Status, failed.Size = core.FileFailed, 9
	return []storeOp{
		whole("create file", func(ctx context.Context, s core.Store) error {
			f := file
			return s.Files().Create(ctx, &f, []byte("new"))
		}),
		reads("get file", func(ctx context.Context, s core.Store) (core.File, error) { return s.Files().Get(ctx, file.ID) }),
		reads("data", func(ctx context.Context, s core.Store) ([]byte, error) { return s.Files().Data(ctx, file.ID) }),
		whole("fill file", func(ctx context.Context, s core.Store) error {
			f, chunks := file, make([]core.Passage, 51)
			for i := range chunks {
				chunks[i] = core.Passage{ID: core.NewPassageID(), Text: "hill", Tags: []string{"t"}, CreatedAt: w.now}
			}
			f.Status = core.FileEmbedding
			return s.Files().Fill(ctx, &f, core.Document{Text: "hill"}, chunks)
		}),
		whole("fill file again", func(ctx context.Context, s core.Store) error {
			f := file
			f.Status, f.Size = core.FileEmbedding, 4
			return s.Files().Fill(ctx, &f, core.Document{Text: "lake"}, nil)
		}),
		reads("document", func(ctx context.Context, s core.Store) (core.Document, error) {
			return s.Files().Document(ctx, w.file.ID)
		}),
		reads("documents", func(ctx context.Context, s core.Store) ([]core.FileDocument, error) {
			return s.Files().Documents(ctx, ids, "one")
		}),
		reads("list files", func(ctx context.Context, s core.Store) ([]core.File, error) {
			return s.Files().List(ctx, core.FileFilter{}, core.Page{After: string(w.file.ID), OrderBy: "name"})
		}),
		reads("count files", func(ctx context.Context, s core.Store) (int, error) { return s.Files().Count(ctx, core.FileFilter{}) }),
		whole("settle files", func(ctx context.Context, s core.Store) error { _, err := s.Files().Settle(ctx); return err }),
		op("open file", func(ctx context.Context, s core.Store) error {
			return s.Files().Open(ctx, w.a.ID, core.OpenFile{File: w.pending.ID, Open: true})
		}),
		reads("opened files", func(ctx context.Context, s core.Store) ([]core.OpenFile, error) { return s.Files().Opened(ctx, w.a.ID) }),
		op("close files", func(ctx context.Context, s core.Store) error { return s.Files().Close(ctx, w.a.ID, ids...) }),
		whole("update file", func(ctx context.Context, s core.Store) error { f := failed; return s.Files().Update(ctx, &f) }),
		whole("delete file", func(ctx context.Context, s core.Store) error { return s.Files().Delete(ctx, w.file.ID) }),
	}
}

func (w *world) otherOps() []storeOp {
	rewind := core.Rewind{
		ID: core.NewRewindID(), Agent: w.a.ID, Conversation: w.conv, Step: w.step.ID, Taken: []core.PassageID{w.passage.ID},
		Brought: []core.PassageID{core.NewPassageID()}, CreatedAt: w.tick(),
	}
	file := core.MirrorFile{Agent: w.a.ID, Block: w.block.ID, Path: "human.md"}
	points := func(at core.RewindPoint) func(ctx context.Context, s core.Store) ([]core.PassageID, error) {
		return func(ctx context.Context, s core.Store) ([]core.PassageID, error) {
			back, err := s.Rewinds().Passages(ctx, w.a.ID, []core.ArchiveID{w.archive.ID}, nil, at)
			return back.Take, err
		}
	}
	var hash string
	return []storeOp{
		op("put snapshot", func(ctx context.Context, s core.Store) (err error) {
			hash, err = s.Snapshots().Put(ctx, core.SnapshotText, "text")
			return err
		}),
		reads("get snapshot", func(ctx context.Context, s core.Store) (string, error) {
			_, body, err := s.Snapshots().Get(ctx, hash)
			return body, err
		}),
		reads("redacted at", func(ctx context.Context, s core.Store) (time.Time, error) { return s.Snapshots().RedactedAt(ctx, hash) }),
		op("put workspace", func(ctx context.Context, s core.Store) error {
			return s.Workspaces().Put(ctx, core.Workspace{Path: "/y", Agent: w.a.ID, Conversation: w.conv})
		}),
		op("find workspace", func(ctx context.Context, s core.Store) error { _, _, err := s.Workspaces().Find(ctx, "/x"); return err }),
		op("note what was read", func(ctx context.Context, s core.Store) error {
			return s.Workspaces().NoteRead(ctx, core.FileRead{Conversation: w.conv, Path: "/y/a", Hash: "h"})
		}),
		op("find what was read", func(ctx context.Context, s core.Store) error {
			_, _, err := s.Workspaces().Read(ctx, w.conv, "/y/a")
			return err
		}),
		op("note a change of a file", func(ctx context.Context, s core.Store) error {
			return s.Workspaces().NoteChange(ctx, &core.FileChange{Conversation: w.conv, Workspace: "/y", Path: "a"})
		}),
		op("list changes of files", func(ctx context.Context, s core.Store) error {
			_, err := s.Workspaces().Changes(ctx, core.FileChanges{Conversation: w.conv})
			return err
		}),
		op("last workspace", func(ctx context.Context, s core.Store) error { _, _, err := s.Workspaces().Last(ctx); return err }),
		op("put variable", func(ctx context.Context, s core.Store) error {
			return s.Variables().Put(ctx, &core.Variable{ID: "agent-env-1", Agent: w.a.ID, Name: "X", Sealed: []byte("x")})
		}),
		reads("list variables", func(ctx context.Context, s core.Store) ([]core.Variable, error) {
			return s.Variables().List(ctx, w.a.ID)
		}),
		op("delete variable", func(ctx context.Context, s core.Store) error { return s.Variables().Delete(ctx, "agent-env-1") }),
		op("put provider", func(ctx context.Context, s core.Store) error {
			return s.Providers().Put(ctx, &core.Provider{ID: "provider-1", Name: "x", BaseURL: "http://h", Sealed: []byte("x")})
		}),
		reads("list providers", func(ctx context.Context, s core.Store) ([]core.Provider, error) { return s.Providers().List(ctx) }),
		op("delete provider", func(ctx context.Context, s core.Store) error { return s.Providers().Delete(ctx, "provider-1") }),
		op("put tool", func(ctx context.Context, s core.Store) error {
			return s.Tools().Put(ctx, &core.CustomTool{
				ID: "tool-1", Name: "x", Language: core.LanguagePython, Source: "def x(): ...", Parameters: []byte("{}"),
			})
		}),
		reads("list tools", func(ctx context.Context, s core.Store) ([]core.CustomTool, error) { return s.Tools().List(ctx) }),
		reads("list some tools", func(ctx context.Context, s core.Store) ([]core.CustomTool, error) {
			return s.Tools().Among(ctx, []core.ToolID{"tool-1"})
		}),
		reads("get tool", func(ctx context.Context, s core.Store) (core.CustomTool, error) { return s.Tools().Get(ctx, "tool-1") }),
		op("find tool", func(ctx context.Context, s core.Store) error { _, _, err := s.Tools().Find(ctx, "x"); return err }),
		op("delete tool", func(ctx context.Context, s core.Store) error { return s.Tools().Delete(ctx, "tool-1") }),
		op("put expense", func(ctx context.Context, s core.Store) error {
			return s.Expenses().Put(ctx, &core.Expense{ID: "expense-1", Model: "v/m"})
		}),
		op("close expenses", func(ctx context.Context, s core.Store) error { return s.Expenses().Close(ctx) }),
		op("set budget", func(ctx context.Context, s core.Store) error {
			return s.Expenses().SetBudget(ctx, core.Budget{Agent: w.a.ID, Tokens: 1})
		}),
		reads("list budgets", func(ctx context.Context, s core.Store) ([]core.Budget, error) { return s.Expenses().Budgets(ctx) }),
		reads("add expenses up", func(ctx context.Context, s core.Store) ([]core.Spent, error) {
			return s.Expenses().Sum(ctx, core.ExpenseQuery{By: core.ByModel})
		}),
		op("delete expense", func(ctx context.Context, s core.Store) error { return s.Expenses().Delete(ctx, "expense-1") }),
		op("put meta", func(ctx context.Context, s core.Store) error { return s.Meta().Put(ctx, "k", "v") }),
		op("get meta", func(ctx context.Context, s core.Store) error { _, _, err := s.Meta().Get(ctx, "k"); return err }),
		whole("finish rewind", func(ctx context.Context, s core.Store) error {
			return s.Rewinds().Finish(ctx, w.rewind.ID, core.FilesBack{Back: []string{"/a"}})
		}),
		reads("list unfinished rewinds", func(ctx context.Context, s core.Store) ([]core.Rewind, error) {
			return s.Rewinds().Unfinished(ctx)
		}),
		whole("note changes of files", func(ctx context.Context, s core.Store) error {
			return s.Workspaces().NoteChanges(ctx, []core.FileChange{{Conversation: w.conv, Workspace: "/y", Path: "b"}})
		}),
		whole("create rewind", func(ctx context.Context, s core.Store) error { r := rewind; return s.Rewinds().Create(ctx, &r) }),
		reads("get rewind", func(ctx context.Context, s core.Store) (core.Rewind, error) { return s.Rewinds().Get(ctx, rewind.ID) }),
		reads("list rewinds", func(ctx context.Context, s core.Store) ([]core.Rewind, error) {
			return s.Rewinds().List(ctx, w.conv, core.Page{After: string(w.rewind.ID)})
		}),
		reads("passages at step", points(core.RewindPoint{Step: w.step.ID})),
		reads("passages at rewind", points(core.RewindPoint{Rewind: w.rewind.ID})),
		whole("put mirror", func(ctx context.Context, s core.Store) error {
			return s.Mirrors().Put(ctx, core.MemoryMirror{Agent: w.a.ID, Path: "/n", On: true})
		}),
		op("find mirror", func(ctx context.Context, s core.Store) error { _, _, err := s.Mirrors().Find(ctx, w.a.ID); return err }),
		reads("list mirrors", func(ctx context.Context, s core.Store) ([]core.MemoryMirror, error) { return s.Mirrors().List(ctx) }),
		op("put file of mirror", func(ctx context.Context, s core.Store) error { return s.Mirrors().PutFile(ctx, file) }),
		reads("files of mirror", func(ctx context.Context, s core.Store) ([]core.MirrorFile, error) {
			return s.Mirrors().Files(ctx, w.a.ID)
		}),
		op("remove file of mirror", func(ctx context.Context, s core.Store) error {
			return s.Mirrors().RemoveFile(ctx, w.a.ID, w.block.ID)
		}),
		op("clear mirror", func(ctx context.Context, s core.Store) error { return s.Mirrors().Clear(ctx, w.a.ID) }),
	}
}
