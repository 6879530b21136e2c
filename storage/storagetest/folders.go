package storagetest

import (
	"context"
	"fmt"

	"loci/core"
)

func (h *home) folder(name string) core.Folder {
	h.Helper()
	at := h.tick()
	f := core.Folder{ID: core.NewFolderID(), Name: name, CreatedAt: at, UpdatedAt: at}
	h.ok(h.s.Folders().Create(h.ctx, &f))
	return f
}

// file stores a file that waits to be read.
func (h *home) file(folder core.FolderID, name, data string) core.File {
	h.Helper()
	at := h.tick()
	f := core.File{
		ID:        core.NewFileID(),
		Folder:    folder,
		Name:      name,
		Size:      int64(len(data)),
		Hash:      data,
		Status:    core.FilePending,
		CreatedAt: at,
		UpdatedAt: at,
	}
	h.ok(h.s.Files().Create(h.ctx, &f, []byte(data)))
	return f
}

// fill gives a file a text of some chunks.
func (h *home) fill(f *core.File, texts ...string) []core.Passage {
	h.Helper()
	doc := core.Document{Kind: core.FileText}
	chunks := []core.Passage{}
	for _, text := range texts {
		at := h.tick()
		chunks = append(chunks, core.Passage{ID: core.NewPassageID(), Text: text, CreatedAt: at, UpdatedAt: at})
		doc.Text += text + "\n"
	}
	f.Status = core.FileEmbedding
	h.ok(h.s.Files().Fill(h.ctx, f, doc, chunks))
	return chunks
}

// embed gives every text that waits a vector.
func (h *home) embed(limit int) {
	h.Helper()
	waiting := must[[]core.EmbeddingTask](h)(h.s.Vectors().Waiting(h.ctx, 0, limit))
	for _, u := range waiting {
		e := core.EmbeddingResult{EmbeddingTask: u}
		if u.Text != "" {
			e.Vector = []float32{1, 0}
		}
		h.ok(h.s.Vectors().Put(h.ctx, e))
	}
}

func (h *home) found(q string, f core.PassageFilter) []string {
	h.Helper()
	out := []string{}
	for _, hit := range must[core.Results[core.PassageHit]](h)(Search(h.s).Passages(h.ctx, core.SearchQuery{Text: q}, f)).Hits {
		out = append(out, hit.Passage.Text)
	}
	return out
}

func (h *home) folders() {
	f := filled(core.Folder{ID: core.NewFolderID(), Name: "one"})
	h.ok(h.s.Folders().Create(h.ctx, &f))
	f.Files, f.Bytes = 0, 0
	equal(h, f, must[core.Folder](h)(h.s.Folders().Get(h.ctx, f.ID)))
	f.Description, f.Mirror, f.Embedding = "other", nil, "m/other"
	h.ok(h.s.Folders().Update(h.ctx, &f))
	equal(h, f, must[core.Folder](h)(h.s.Folders().Get(h.ctx, f.ID)))
	equal(h, core.Handle("m/other"), must[core.Archive](h)(h.s.Archives().Get(h.ctx, f.Archive)).Embedding)
	two := h.folder("two")
	taken := core.Folder{ID: core.NewFolderID(), Name: "two"}
	h.kind(core.Conflict, h.s.Folders().Create(h.ctx, &taken))
	renamed := f
	renamed.Name = "two"
	h.kind(core.Conflict, h.s.Folders().Update(h.ctx, &renamed))
	list := func(f core.FolderFilter, p core.Page) []string {
		h.Helper()
		out := []string{}
		for _, f := range must[[]core.Folder](h)(h.s.Folders().List(h.ctx, f, p)) {
			out = append(out, f.Name)
		}
		return out
	}
	equal(h, []string{"two"}, list(core.FolderFilter{Name: "two"}, core.Page{}))
	equal(h, 2, must[int](h)(h.s.Folders().Count(h.ctx, core.FolderFilter{})))
	equal(h, []string{"two"}, list(core.FolderFilter{}, core.Page{After: string(f.ID)}))
	f.Mirror = &core.Mirror{Path: "/notes"}
	h.ok(h.s.Folders().Update(h.ctx, &f))
	equal(h, []string{"one"}, list(core.FolderFilter{Mirrored: true}, core.Page{}))

	a, b := h.agent("a"), h.agent("b")
	h.ok(h.s.Folders().Attach(h.ctx, a.ID, two.ID))
	h.ok(h.s.Folders().Attach(h.ctx, a.ID, f.ID))
	h.ok(h.s.Folders().Attach(h.ctx, a.ID, two.ID))
	h.ok(h.s.Folders().Attach(h.ctx, b.ID, two.ID))
	equal(h, a.Rev+2, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).Rev)
	equal(h, []core.Folder{two, f}, must[[]core.Folder](h)(h.s.Folders().OfAgent(h.ctx, a.ID)))
	equal(h, []core.AgentID{a.ID, b.ID}, must[[]core.AgentID](h)(h.s.Folders().AgentsOf(h.ctx, two.ID)))
	equal(h, []string{"two"}, list(core.FolderFilter{Agent: b.ID}, core.Page{}))
	h.kind(core.NotFound, h.s.Folders().Attach(h.ctx, a.ID, core.NewFolderID()))
	h.kind(core.NotFound, h.s.Folders().Attach(h.ctx, core.NewAgentID(), f.ID))
	h.ok(h.s.Agents().Delete(h.ctx, b.ID))
	equal(h, []core.AgentID{a.ID}, must[[]core.AgentID](h)(h.s.Folders().AgentsOf(h.ctx, two.ID)))
	h.ok(h.s.Folders().Detach(h.ctx, a.ID, f.ID))
	h.kind(core.NotFound, h.s.Folders().Detach(h.ctx, a.ID, f.ID))
	rev := must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).Rev
	h.ok(h.s.Folders().Delete(h.ctx, two.ID))
	equal(h, rev+1, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).Rev)
	equal(h, []core.Folder{}, must[[]core.Folder](h)(h.s.Folders().OfAgent(h.ctx, a.ID)))
	h.kind(core.NotFound, h.s.Folders().Delete(h.ctx, two.ID))
	h.folder("two") // the name is free again
}

func (h *home) everyFieldOfFiles() {
	folder := h.folder("f")
	f := filled(core.File{ID: core.NewFileID(), Folder: folder.ID, Status: core.FilePending})
	h.ok(h.s.Files().Create(h.ctx, &f, []byte("bytes")))
	equal(h, f, must[core.File](h)(h.s.Files().Get(h.ctx, f.ID)))
	f.Title, f.Size, f.Metadata = "other", 100, nil
	h.ok(h.s.Files().Update(h.ctx, &f))
	equal(h, f, must[core.File](h)(h.s.Files().Get(h.ctx, f.ID)))
	equal(h, int64(100), must[core.Folder](h)(h.s.Folders().Get(h.ctx, folder.ID)).Bytes)
	doc := filled(core.Document{Kind: core.FileText})
	p := filled(core.Passage{ID: core.NewPassageID(), Text: "text"})
	f.Status = core.FileEmbedding
	h.ok(h.s.Files().Fill(h.ctx, &f, doc, []core.Passage{p}))
	equal(h, doc, must[core.Document](h)(h.s.Files().Document(h.ctx, f.ID)))
	equal(h, f, must[core.File](h)(h.s.Files().Get(h.ctx, f.ID)))
	got := must[core.Passage](h)(h.s.Passages().Get(h.ctx, p.ID))
	p.Archive, p.File, p.Place, p.Seq = folder.Archive, f.ID, 0, got.Seq
	equal(h, p, got)
}

func (h *home) fileLists() {
	one, two := h.folder("one"), h.folder("two")
	b, a := h.file(one.ID, "b.txt", "bb"), h.file(one.ID, "a.txt", "a")
	other := h.file(two.ID, "a.txt", "a")
	list := func(f core.FileFilter, p core.Page) []core.FileID {
		h.Helper()
		out := []core.FileID{}
		for _, f := range must[[]core.File](h)(h.s.Files().List(h.ctx, f, p)) {
			out = append(out, f.ID)
		}
		return out
	}
	in := []core.FolderID{one.ID}
	equal(h, []core.FileID{b.ID, a.ID}, list(core.FileFilter{Folders: in}, core.Page{}))
	equal(h, []core.FileID{a.ID, b.ID}, list(core.FileFilter{Folders: in}, core.Page{OrderBy: "name"}))
	equal(h, []core.FileID{b.ID}, list(core.FileFilter{Folders: in}, core.Page{OrderBy: "name", After: string(a.ID)}))
	equal(h, []core.FileID{other.ID, a.ID}, list(core.FileFilter{}, core.Page{Desc: true, Limit: 2}))
	equal(h, []core.FileID{a.ID, other.ID}, list(core.FileFilter{Hash: "a"}, core.Page{}))
	equal(h, []core.FileID{b.ID}, list(core.FileFilter{Names: []string{"b.txt", "c.txt"}}, core.Page{}))
	equal(h, []core.FileID{}, list(core.FileFilter{Status: []core.FileStatus{core.FileFailed}}, core.Page{}))
	equal(h, 2, must[int](h)(h.s.Files().Count(h.ctx, core.FileFilter{Folders: in})))
	_, err := h.s.Files().List(h.ctx, core.FileFilter{}, core.Page{OrderBy: "hash; DROP"})
	h.kind(core.Invalid, err)
	got := must[core.Folder](h)(h.s.Folders().Get(h.ctx, one.ID))
	equal(h, []int64{2, 3}, []int64{int64(got.Files), got.Bytes})

	again := core.File{ID: core.NewFileID(), Folder: one.ID, Name: "a.txt", Status: core.FilePending}
	h.kind(core.Conflict, h.s.Files().Create(h.ctx, &again, nil))
	renamed := b
	renamed.Name = "a.txt"
	h.kind(core.Conflict, h.s.Files().Update(h.ctx, &renamed))
	again.Folder = core.NewFolderID()
	h.kind(core.NotFound, h.s.Files().Create(h.ctx, &again, nil))
	got = must[core.Folder](h)(h.s.Folders().Get(h.ctx, one.ID))
	equal(h, []int64{2, 3}, []int64{int64(got.Files), got.Bytes}) // what was refused is not counted

	equal(h, "bb", string(must[[]byte](h)(h.s.Files().Data(h.ctx, b.ID))))
	b.Status, b.Error = core.FileFailed, "broken"
	h.ok(h.s.Files().Update(h.ctx, &b))
	_, err = h.s.Files().Data(h.ctx, b.ID)
	h.kind(core.NotFound, err)
	h.ok(h.s.Files().Delete(h.ctx, b.ID))
	h.kind(core.NotFound, h.s.Files().Delete(h.ctx, b.ID))
	got = must[core.Folder](h)(h.s.Folders().Get(h.ctx, one.ID))
	equal(h, []int64{1, 1}, []int64{int64(got.Files), got.Bytes})
	h.ok(h.s.Folders().Delete(h.ctx, one.ID))
	_, err = h.s.Files().Get(h.ctx, a.ID)
	h.kind(core.NotFound, err)
}

// fileChunks fills a file twice: what it had before is nowhere any more.
func (h *home) fileChunks() {
	folder, plain := h.folder("f"), h.archive("plain")
	h.passage(plain.ID, "lake of the archive")
	f, g := h.file(folder.ID, "f.txt", "1"), h.file(folder.ID, "g.txt", "2")
	first := h.fill(&f, "lake one", "hill two")
	h.fill(&g, "lake three")
	equal(h, []int{2, 0}, []int{f.Chunks, f.Embedded})
	_, err := h.s.Files().Data(h.ctx, f.ID)
	h.kind(core.NotFound, err)
	in := core.PassageFilter{Archives: []core.ArchiveID{folder.Archive}}
	equal(h, []string{"lake one", "lake three"}, sorted(h.found("lake", in)))
	equal(h, []string{"lake of the archive"}, h.found("lake", core.PassageFilter{}))
	equal(h, []string{"lake three"}, h.found("lake", core.PassageFilter{Files: []core.FileID{g.ID}}))
	equal(h, []string{"lake three"}, h.found("lake", core.PassageFilter{Archives: in.Archives, Files: []core.FileID{g.ID}}))
	equal(h, 1, len(must[[]core.Passage](h)(h.s.Passages().List(h.ctx, core.PassageFilter{}, core.Page{}))))
	equal(h, 2, len(must[[]core.Passage](h)(h.s.Passages().List(h.ctx, core.PassageFilter{Files: []core.FileID{f.ID}}, core.Page{}))))
	h.embed(100)

	second := h.fill(&f, "lake four")
	equal(h, []string{"lake four", "lake three"}, sorted(h.found("lake", in)))
	equal(h, []string{}, h.found("hill", in))
	equal(h, 2, must[core.Archive](h)(h.s.Archives().Get(h.ctx, folder.Archive)).Passages)
	_, err = h.s.Passages().Get(h.ctx, first[0].ID)
	h.kind(core.NotFound, err)
	equal(h, second[0].Seq, must[[]core.EmbeddingTask](h)(h.s.Vectors().Waiting(h.ctx, 0, 10))[0].Owner)
	equal(h, 2, must[[]core.VectorCount](h)(h.s.Vectors().Made(h.ctx))[0].Count) // the archive's and g's

	stale := f
	stale.Hash = "older"
	h.kind(core.Conflict, h.s.Files().Fill(h.ctx, &stale, core.Document{Text: "x"}, nil))
	h.kind(core.Conflict, h.s.Passages().Update(h.ctx, &second[0], core.Author{}))
	h.kind(core.Conflict, h.s.Passages().Delete(h.ctx, second[0].ID))
	h.ok(h.s.Files().Delete(h.ctx, g.ID))
	equal(h, []string{"lake four"}, h.found("lake", in))
	equal(h, 1, must[core.Archive](h)(h.s.Archives().Get(h.ctx, folder.Archive)).Passages)
	_, err = h.s.Files().Document(h.ctx, g.ID)
	h.kind(core.NotFound, err)
	h.ok(h.s.Folders().Delete(h.ctx, folder.ID))
	equal(h, []string{}, h.found("lake", in))
	equal(h, []string{"lake of the archive"}, h.found("lake", core.PassageFilter{}))
}

// folderArchives are out of reach for archival memory.
func (h *home) folderArchives() {
	folder, a := h.folder("f"), h.agent("a")
	f := h.file(folder.ID, "f.txt", "1")
	h.fill(&f, "lake")
	equal(h, []core.Archive{}, must[[]core.Archive](h)(h.s.Archives().List(h.ctx, "", "", core.Page{})))
	h.kind(core.NotFound, h.s.Archives().Attach(h.ctx, a.ID, folder.Archive))
	h.kind(core.NotFound, h.s.Archives().Delete(h.ctx, folder.Archive))
	stray := core.Passage{ID: core.NewPassageID(), Archive: folder.Archive, Text: "stray", CreatedAt: h.tick()}
	h.kind(core.NotFound, h.s.Passages().Insert(h.ctx, &stray))
	equal(h, folder.ID, must[core.Archive](h)(h.s.Archives().Get(h.ctx, folder.Archive)).Folder)
	for _, q := range []string{"lake", ""} { // there is no other archive
		equal(h, []string{}, h.found(q, core.PassageFilter{}))
	}
}

// proseChunks are next to each other and tell of one another nothing: they look like a transcript, and are a file.
func (h *home) proseChunks() {
	folder := h.folder("f")
	f := h.file(folder.ID, "chat.txt", "1")
	texts := []string{"Ann: where is the harbour?", "Bob: behind the church.", "Ann: and the market?", "Bob: on the square."}
	h.fill(&f, texts...)
	equal(h, texts[:1], h.found("harbour", core.PassageFilter{Archives: []core.ArchiveID{folder.Archive}}))
	plain := h.archive("plain")
	for _, text := range texts {
		h.passage(plain.ID, text)
	}
	if got := h.found("harbour", core.PassageFilter{Archives: []core.ArchiveID{plain.ID}}); len(got) < 2 {
		h.Fatalf("passages of a transcript inherit nothing: %q", got)
	}
}

func (h *home) settledFiles() {
	folder := h.folder("f")
	f, g, empty := h.file(folder.ID, "f.txt", "1"), h.file(folder.ID, "g.txt", "2"), h.file(folder.ID, "empty.txt", "3")
	h.fill(&f, "one", "two")
	h.fill(&g, "three")
	h.fill(&empty)
	state := func(id core.FileID) string {
		h.Helper()
		f := must[core.File](h)(h.s.Files().Get(h.ctx, id))
		return fmt.Sprintf("%s %d/%d", f.Status, f.Embedded, f.Chunks)
	}
	equal(h, 2, must[int](h)(h.s.Files().Settle(h.ctx)))
	equal(h, "completed 0/0", state(empty.ID))
	h.embed(1)
	equal(h, 2, must[int](h)(h.s.Files().Settle(h.ctx)))
	equal(h, []string{"embedding 1/2", "embedding 0/1"}, []string{state(f.ID), state(g.ID)})
	h.embed(10)
	equal(h, 0, must[int](h)(h.s.Files().Settle(h.ctx)))
	equal(h, []string{"completed 2/2", "completed 1/1"}, []string{state(f.ID), state(g.ID)})
}

func (h *home) openedFiles() {
	folder, other, a := h.folder("f"), h.folder("other"), h.agent("a")
	f, g := h.file(folder.ID, "f.txt", "1"), h.file(other.ID, "g.txt", "2")
	h.ok(h.s.Folders().Attach(h.ctx, a.ID, folder.ID))
	one := core.OpenFile{File: f.ID, Open: true, Start: 3, End: 9, UsedAt: h.tick()}
	two := core.OpenFile{File: g.ID, Open: true, UsedAt: h.tick()}
	h.ok(h.s.Files().Open(h.ctx, a.ID, one))
	h.ok(h.s.Files().Open(h.ctx, a.ID, two))
	opened := func() []core.OpenFile {
		h.Helper()
		return must[[]core.OpenFile](h)(h.s.Files().Opened(h.ctx, a.ID))
	}
	equal(h, []core.OpenFile{one}, opened()) // the other folder is not the agent's
	h.ok(h.s.Folders().Attach(h.ctx, a.ID, other.ID))
	equal(h, []core.OpenFile{two, one}, opened())
	one.Start, one.UsedAt = 10, h.tick()
	h.ok(h.s.Files().Open(h.ctx, a.ID, one))
	h.ok(h.s.Files().Close(h.ctx, a.ID, g.ID))
	two.Open = false
	equal(h, []core.OpenFile{one, two}, opened())
	h.kind(core.NotFound, h.s.Files().Open(h.ctx, a.ID, core.OpenFile{File: core.NewFileID()}))
	h.ok(h.s.Files().Delete(h.ctx, g.ID))
	equal(h, []core.OpenFile{one}, opened())
	h.ok(h.s.Folders().Detach(h.ctx, a.ID, folder.ID))
	h.ok(h.s.Folders().Attach(h.ctx, a.ID, folder.ID))
	equal(h, []core.OpenFile{}, opened())
	h.ok(h.s.Agents().Delete(h.ctx, a.ID))
	h.kind(core.NotFound, h.s.Files().Open(h.ctx, a.ID, one))
}

// takenBack undoes a file with its transaction.
func (h *home) takenBackFiles() {
	folder := h.folder("f")
	boom := core.E(core.Cancelled, "boom")
	err := h.s.Tx(h.ctx, func(ctx context.Context, tx core.Store) error {
		f := core.File{ID: core.NewFileID(), Folder: folder.ID, Name: "a", Status: core.FilePending, CreatedAt: h.now}
		if err := tx.Files().Create(ctx, &f, []byte("x")); err != nil {
			return err
		}
		if err := tx.Files().
			Fill(ctx, &f, core.Document{Text: "x"}, []core.Passage{{ID: core.NewPassageID(), Text: "x", CreatedAt: h.now}}); err != nil {
			return err
		}
		return boom
	})
	h.kind(core.Cancelled, err)
	equal(h, 0, must[core.Folder](h)(h.s.Folders().Get(h.ctx, folder.ID)).Files)
	equal(h, 0, must[core.Archive](h)(h.s.Archives().Get(h.ctx, folder.Archive)).Passages)
}
