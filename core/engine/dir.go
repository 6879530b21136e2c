package engine

import (
	"cmp"
	"path/filepath"
	"strings"
)

// folder is the open one: that of the run, else the one that the window named last.
func (w *window) folder() string { return cmp.Or(w.run.Client.Workspace, w.conv.LastFolder) }

// dir is where a shell line begins: where the newest one of the window ended, in the workspace of the run. All lines of a
// response begin there, as the gate judged them.
func (w *window) dir() string {
	root := w.run.Client.Workspace
	for i := len(w.rows) - 1; i >= 0; i-- {
		returns := w.rows[i].Message.Returns
		for j := len(returns) - 1; j >= 0; j-- {
			if dir := returns[j].Dir; dir != "" && (dir == root || strings.HasPrefix(dir, root+string(filepath.Separator))) {
				return dir
			}
		}
	}
	return root
}
