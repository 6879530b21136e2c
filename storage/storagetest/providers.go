package storagetest

import (
	"fmt"

	"loci/core"
)

func (h *home) provider(name, sealed string) core.Provider {
	p := core.Provider{
		ID: core.NewProviderID(), Name: name, Type: "openai", Protocol: "openai", BaseURL: "http://127.0.0.1:1/v1", Sealed: []byte(sealed),
		CreatedAt: h.tick(), UpdatedAt: h.tick(),
	}
	h.ok(h.s.Providers().Put(h.ctx, &p))
	return p
}

func (h *home) providers() {
	list := func() []core.Provider { return must[[]core.Provider](h)(h.s.Providers().List(h.ctx)) }
	equal(h, []core.Provider{}, list())
	two, one := h.provider("two", "\x00\xff"), h.provider("one", "k")
	equal(h, []core.Provider{one, two}, list())

	again := h.provider("one", "other")
	equal(h, one.ID, again.ID)
	again.CreatedAt = one.CreatedAt
	equal(h, []core.Provider{again, two}, list())

	h.ok(h.s.Providers().Delete(h.ctx, two.ID))
	h.kind(core.NotFound, h.s.Providers().Delete(h.ctx, two.ID))
	equal(h, []core.Provider{again}, list())

	h.kind(core.Invalid, h.s.Providers().Put(h.ctx, &core.Provider{ID: "p", Name: "Not A Name", BaseURL: "http://h"}))
	for i := range core.MaxProviders - 1 {
		h.provider(fmt.Sprintf("p%d", i), "k")
	}
	h.kind(core.TooLarge, h.s.Providers().Put(h.ctx, &core.Provider{ID: "p", Name: "over", BaseURL: "http://h"}))
	h.provider("p0", "replaced, for which there is room")
}
