package storagetest

import (
	"encoding/json"

	"loci/core"
)

func (h *home) tool(name string) core.CustomTool {
	t := core.CustomTool{
		ID: core.NewToolID(), Name: name, Description: "Does " + name + ".", Language: core.LanguagePython,
		Source:     "def " + name + "(a: int):\n    return a  # \u00e4\n",
		Parameters: json.RawMessage(`{"type":"object","properties":{"a":{"type":"integer"}}}`),
		ArgsSchema: json.RawMessage(`{"type":"object"}`), Tags: []string{"x", "y"},
		Pip: []core.Requirement{{Name: "requests", Version: "2.31"}}, Npm: []core.Requirement{{Name: "@a/b"}},
		ReturnChars: 7, Asks: true, Parallel: true, Metadata: map[string]any{"k": "v"}, CreatedAt: h.tick(), UpdatedAt: h.tick(),
	}
	h.ok(h.s.Tools().Put(h.ctx, &t))
	return t
}

func (h *home) tools() {
	tools := h.s.Tools()
	list := func() []core.CustomTool { return must[[]core.CustomTool](h)(tools.List(h.ctx)) }
	equal(h, []core.CustomTool{}, list())
	two, one := h.tool("two"), h.tool("one")
	equal(h, []core.CustomTool{one, two}, list())
	equal(h, two, must[core.CustomTool](h)(tools.Get(h.ctx, two.ID)))
	equal(h, []core.CustomTool{two}, must[[]core.CustomTool](h)(tools.Among(h.ctx, []core.ToolID{"tool-none", two.ID})))
	equal(h, []core.CustomTool{}, must[[]core.CustomTool](h)(tools.Among(h.ctx, nil)))
	found, ok, err := tools.Find(h.ctx, "one")
	h.ok(err)
	equal(h, true, ok)
	equal(h, one, found)
	_, ok, err = tools.Find(h.ctx, "three")
	h.ok(err)
	equal(h, false, ok)

	was := one.CreatedAt
	one.Name, one.Source, one.CreatedAt = "uno", "def uno(): ...", h.tick()
	h.ok(tools.Put(h.ctx, &one))
	one.CreatedAt = was
	equal(h, []core.CustomTool{two, one}, list())
	other := one
	other.ID = core.NewToolID()
	h.kind(core.Conflict, tools.Put(h.ctx, &other))
	other.Name = "not a name"
	h.kind(core.Invalid, tools.Put(h.ctx, &other))

	h.ok(tools.Delete(h.ctx, two.ID))
	h.kind(core.NotFound, tools.Delete(h.ctx, two.ID))
	_, err = tools.Get(h.ctx, two.ID)
	h.kind(core.NotFound, err)
	equal(h, []core.CustomTool{one}, list())
}
