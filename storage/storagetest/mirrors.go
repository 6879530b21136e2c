package storagetest

import (
	"loci/core"
)

func (h *home) mirrors() {
	a, b := h.agent("a"), h.agent("b")
	m := core.MemoryMirror{Agent: a.ID, Path: "/m", Branch: "main", On: true, CreatedAt: h.tick()}
	h.ok(h.s.Mirrors().Put(h.ctx, m))
	got, ok, err := h.s.Mirrors().Find(h.ctx, a.ID)
	h.ok(err)
	equal(h, true, ok)
	equal(h, m, got)
	_, ok, err = h.s.Mirrors().Find(h.ctx, b.ID)
	h.ok(err)
	equal(h, false, ok)
	h.kind(core.Conflict, h.s.Mirrors().Put(h.ctx, core.MemoryMirror{Agent: b.ID, Path: "/m", On: true}))
	h.kind(core.NotFound, h.s.Mirrors().Put(h.ctx, core.MemoryMirror{Agent: core.NewAgentID(), Path: "/n", On: true}))
	h.ok(h.s.Mirrors().Put(h.ctx, core.MemoryMirror{Agent: b.ID, Path: "/n", Branch: "main", CreatedAt: h.tick()}))
	equal(h, []core.MemoryMirror{m}, must[[]core.MemoryMirror](h)(h.s.Mirrors().List(h.ctx)))

	f := filled(core.MirrorFile{})
	f.Agent = a.ID
	h.ok(h.s.Mirrors().PutFile(h.ctx, f))
	f.FileHash, f.NextFile = "other", ""
	h.ok(h.s.Mirrors().PutFile(h.ctx, f))
	g := core.MirrorFile{Agent: a.ID, Block: core.NewBlockID(), Path: "zz"}
	h.ok(h.s.Mirrors().PutFile(h.ctx, g))
	equal(h, []core.MirrorFile{f, g}, must[[]core.MirrorFile](h)(h.s.Mirrors().Files(h.ctx, a.ID)))
	h.ok(h.s.Mirrors().RemoveFile(h.ctx, a.ID, g.Block))
	equal(h, []core.MirrorFile{f}, must[[]core.MirrorFile](h)(h.s.Mirrors().Files(h.ctx, a.ID)))
	h.ok(h.s.Mirrors().Clear(h.ctx, a.ID))
	equal(h, []core.MirrorFile{}, must[[]core.MirrorFile](h)(h.s.Mirrors().Files(h.ctx, a.ID)))

	stamp := func() string { return must[string](h)(h.s.Mirrors().Stamp(h.ctx, a.ID)) }
	seen := map[string]bool{stamp(): true}
	block := h.block("human", "x")
	for _, change := range []func(){
		func() { h.ok(h.s.Blocks().Attach(h.ctx, a.ID, block.ID)) },
		func() { block.Value = "y"; h.ok(h.s.Blocks().Update(h.ctx, &block, core.Author{})) },
		func() { block.ReadOnly = true; h.ok(h.s.Blocks().Update(h.ctx, &block, core.Author{})) },
		func() { block.Label = "people"; h.ok(h.s.Blocks().Update(h.ctx, &block, core.Author{})) },
	} {
		change()
		if now := stamp(); seen[now] {
			h.Fatalf("the stamp did not change: %s", now)
		}
		seen[stamp()] = true
	}
	h.ok(h.s.Blocks().Detach(h.ctx, a.ID, block.ID))
	equal(h, "", stamp())

	h.ok(h.s.Agents().Delete(h.ctx, a.ID))
	equal(h, 0, len(must[[]core.MemoryMirror](h)(h.s.Mirrors().List(h.ctx))))
	h.ok(h.s.Mirrors().Put(h.ctx, core.MemoryMirror{Agent: b.ID, Path: "/m", On: true, CreatedAt: h.tick()}))
}
