package engine

import (
	"path/filepath"
	"strings"
)

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
