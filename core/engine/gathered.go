package engine

import (
	"slices"

	"loci/core"
	"loci/core/arguments"
	"loci/core/request"
	"loci/core/rules"
)

// Where an agent has many tools, its model is offered core.MoreToolsName in place of those that people wrote or servers bring. A call
// through it is a call of the tool itself from the moment at which the answer is whole: gate, rules, records and whoever watches see
// nothing else, and only the model is told again what it said.

// behind are the names of the tools that the model reaches through the one that it is offered; nil: it is offered all.
func (w *window) behind() (names []string) {
	named := func(t core.ToolSpec) bool { return t.Name == core.MoreToolsName }
	if !slices.ContainsFunc(w.pinned.Tools, named) || slices.ContainsFunc(w.run.Config.ClientTools, named) {
		return nil
	}
	for _, t := range w.pinned.Bound {
		if !t.Info.Kind.Ours() {
			names = append(names, t.Info.Spec.Name)
		}
	}
	return names
}

// offering is what of the tools that rules leave is offered by itself, and how strongly a call is requested.
func (w *window) offering(state *rules.State) (offer []string, choice core.ToolChoice) {
	choice = state.Choice()
	if state.Shrunk() {
		offer = state.Offer()
	}
	behind := w.behind()
	if len(behind) == 0 {
		return offer, choice
	}
	if slices.Contains(behind, choice.Name) {
		choice.Name = core.MoreToolsName
	}
	var named []string
	for _, name := range offer {
		if slices.Contains(behind, name) {
			name = core.MoreToolsName
		}
		if !slices.Contains(named, name) {
			named = append(named, name)
		}
	}
	return named, choice
}

// through returns the call that one of core.MoreToolsName stands for, if that is of a tool behind it.
func (a *answer) through(text string) (tool, inner string, ok bool) {
	whole, err := arguments.Read(text)
	if err != nil {
		return "", "", false
	}
	tool, inner, ok = request.Unwrap(whole.JSON)
	return tool, inner, ok && slices.Contains(a.behind, tool)
}

// unwrap makes a call of what it stands for, and returns its arguments.
func (a *answer) unwrap(c *callBuffer, text string) string {
	tool, inner, ok := a.through(text)
	if !ok {
		c.name, c.via = core.MoreToolsName, ""
		return text
	}
	c.name, c.via = tool, core.MoreToolsName
	return inner
}

// ruled are the returns that rules know of: to search for a tool is no call that one follows.
func ruled(history []core.ToolReturn) []core.ToolReturn {
	searched := func(r core.ToolReturn) bool { return r.Name == core.MoreToolsName }
	if !slices.ContainsFunc(history, searched) {
		return history
	}
	return slices.DeleteFunc(slices.Clone(history), searched)
}
