package engine

import (
	"path/filepath"

	"loci/core"
)

const (
	// mostBrought bounds how many folders' instructions come with one response; the others come when they are touched again.
	mostBrought = 4
	// broughtShare is what each may take of the room that those of the open folder have.
	broughtShare = 2
)

// bringInstructions lets the instructions of folders that the calls touched follow their returns, where the window does not
// show just these. Those of the open folder itself are in the prompt.
func (t *turn) bringInstructions(calls []*pendingCall) {
	root := t.run.Client.Workspace
	if root == "" || t.e.cfg.Trust == nil {
		return
	}
	shown, seen := map[string]bool{}, map[string]bool{}
	for i := range t.win.rows {
		if m := &t.win.rows[i].Message; m.Hidden == core.HiddenInstructions {
			shown[m.PlainText()] = true
		}
	}
	brought := 0
	for _, p := range calls {
		for _, dir := range p.folders(root) {
			if seen[dir] || brought == mostBrought {
				continue
			}
			seen[dir] = true
			t.tellWaits(root, dir)
			in := t.e.prompts.Instructions(&t.agent, root, dir)
			in.Room /= broughtShare
			if len(in.Texts) == 0 || shown[in.Below()] {
				continue
			}
			m := t.win.hidden(core.HiddenInstructions, in.Below())
			m.Joins, m.Step = "", t.step.ID // it follows the returns
			p.brings = append(p.brings, m)
			brought++
		}
	}
}

// folders returns the folders within the open one that the call touched, outer ones first, with slashes. A file is among them
// as well, for it holds nothing.
func (p *pendingCall) folders(root string) (dirs []string) {
	if p.refusal != "" || p.given || p.result.IsError || !p.inFolder() {
		return nil
	}
	path := p.result.Dir // where a shell line ended
	if path == "" {
		args, err := core.ParseArguments(p.call.Arguments)
		if err != nil {
			return nil
		}
		subject, _ := args[p.tool.Info.Subject].(string)
		path = absolute(subject, root)
	}
	rel, err := filepath.Rel(root, path)
	if err != nil || !filepath.IsLocal(rel) {
		return nil
	}
	for ; rel != "."; rel = filepath.Dir(rel) {
		dirs = append([]string{filepath.ToSlash(rel)}, dirs...)
	}
	return dirs
}
