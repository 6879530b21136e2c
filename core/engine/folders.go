package engine

import (
	"loci/core"
	"loci/core/memory"
	"loci/core/permission"
)

// offerFolders lets the list of the folders that are open beside the workspace join the input, where the window does not show
// just these. It is no part of the prompt: a person opens and closes folders in the middle of a conversation.
func (t *turn) offerFolders() {
	if t.run.Client.Workspace == "" || answers(&t.run) {
		return
	}
	set, err := written(t.e.cfg.Permissions, t.run.Client)
	if err != nil {
		return // every call asks then, and says why
	}
	at := permission.Place{Root: t.run.Client.Workspace, Real: permission.Real}
	if t.e.cfg.Permissions != nil {
		at.Home = t.e.cfg.Permissions.Home()
	}
	dirs := set.Dirs(at)
	shown, want := "", memory.Folders(dirs)
	for i := range t.win.rows {
		if m := &t.win.rows[i].Message; m.Hidden == core.HiddenFolders {
			shown = m.PlainText()
		}
	}
	if shown == want || shown == "" && len(dirs) == 0 {
		return
	}
	t.win.input = append(t.win.input, t.win.hidden(core.HiddenFolders, want))
}
