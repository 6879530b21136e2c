package storagetest

import "loci/core"

func (h *home) images() {
	a := h.agent("a")
	conv := core.DefaultConversation(a.ID)
	data := []byte("as good as an image")
	p := core.Picture{
		Image: core.Image{Hash: core.ContentHash(data), Type: "image/png", Width: 3, Height: 2, Bytes: len(data)}, Data: data,
	}
	if _, err := h.s.Images().Get(h.ctx, p.Hash); core.KindOf(err) != core.NotFound {
		h.Errorf("an image is known that nobody put: %v", err)
	}
	for range 2 {
		h.ok(h.s.Images().Put(h.ctx, p))
	}
	other := p
	other.Data = []byte("something else")
	h.kind(core.Internal, h.s.Images().Put(h.ctx, other))
	equal(h, p, must[core.Picture](h)(h.s.Images().Get(h.ctx, p.Hash)))

	detailed := p.Image
	detailed.Detail = "low"
	said := core.Message{
		ID: core.NewMessageID(), Agent: a.ID, Conversation: conv, Role: core.RoleUser, CreatedAt: h.tick(),
		Content: []core.Content{core.Text("look"), {Type: core.ContentImage, Image: &detailed}},
	}
	returned := core.Message{
		ID: core.NewMessageID(), Agent: a.ID, Conversation: conv, Role: core.RoleTool, CreatedAt: h.tick(),
		Returns: []core.ToolReturn{{CallID: "call", Name: "read", Images: []core.Image{p.Image}}},
	}
	h.ok(h.s.Messages().Insert(h.ctx, &said, &returned))
	for _, m := range []core.Message{said, returned} {
		got := must[core.Message](h)(h.s.Messages().Get(h.ctx, m.ID))
		equal(h, m.Images(), got.Images())
	}
}
