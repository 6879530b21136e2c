package storagetest

import (
	"fmt"

	"loci/core"
)

func (h *home) variable(agent core.AgentID, name, sealed string) core.Variable {
	v := core.Variable{
		ID: core.NewVariableID(agent), Agent: agent, Name: name, Description: "what " + name + " is", Tools: []string{"shell"},
		Sealed: []byte(sealed), CreatedAt: h.tick(), UpdatedAt: h.tick(),
	}
	h.ok(h.s.Variables().Put(h.ctx, &v))
	return v
}

func (h *home) variables() {
	list := func(agent core.AgentID) []core.Variable {
		return must[[]core.Variable](h)(h.s.Variables().List(h.ctx, agent))
	}
	a, b := h.agent("a"), h.agent("b")
	two := h.variable(a.ID, "TWO", "\x00\xff")
	one := h.variable(a.ID, "ONE", "one")
	shared := h.variable("", "ONE", "all")
	equal(h, []core.Variable{one, two}, list(a.ID))
	equal(h, []core.Variable{shared}, list(""))
	equal(h, []core.Variable{}, list(b.ID))

	again := h.variable(a.ID, "ONE", "other")
	equal(h, one.ID, again.ID)
	again.CreatedAt = one.CreatedAt
	equal(h, []core.Variable{again, two}, list(a.ID))

	h.ok(h.s.Variables().Delete(h.ctx, two.ID))
	h.kind(core.NotFound, h.s.Variables().Delete(h.ctx, two.ID))
	equal(h, []core.Variable{again}, list(a.ID))

	nobody := core.Variable{Agent: core.NewAgentID(), Name: "X", Sealed: []byte("x")}
	h.kind(core.NotFound, h.s.Variables().Put(h.ctx, &nobody))
	wrong := core.Variable{Agent: a.ID, Name: "PATH", Sealed: []byte("x")}
	h.kind(core.Invalid, h.s.Variables().Put(h.ctx, &wrong))
	for i := range core.MaxVariables {
		h.variable(b.ID, fmt.Sprintf("V%d", i), "x")
	}
	over := core.Variable{ID: core.NewVariableID(b.ID), Agent: b.ID, Name: "OVER", Sealed: []byte("x")}
	h.kind(core.TooLarge, h.s.Variables().Put(h.ctx, &over))
	h.variable(b.ID, "V0", "replaced, for which there is room")
}
