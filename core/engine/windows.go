package engine

import (
	"slices"
	"sync"

	"loci/core"
)

// windows keeps the context rows of the conversations used last, so that a turn need not read a full window again that
// nothing changed. A conversation's rev rises with every row that enters or leaves: rows of another rev are not used.
type windows struct {
	mu    sync.Mutex // guards all fields
	kept  map[core.ConversationID]keptWindow
	order []core.ConversationID // least recently used first
}

type keptWindow struct {
	rev  int
	rows []core.InContext
}

// maxWindows bounds how many conversations are kept, and maxWindowRows how long a window may be to be kept.
const (
	maxWindows    = 32
	maxWindowRows = 2000
)

func newWindows() *windows { return &windows{kept: map[core.ConversationID]keptWindow{}} }

func (w *windows) get(conv core.ConversationID, rev int) ([]core.InContext, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	k, ok := w.kept[conv]
	if !ok || k.rev != rev {
		return nil, false
	}
	w.touchLocked(conv)
	return slices.Clone(k.rows), true
}

func (w *windows) put(conv core.ConversationID, rev int, rows []core.InContext) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(rows) > maxWindowRows {
		delete(w.kept, conv)
		w.order = slices.DeleteFunc(w.order, func(c core.ConversationID) bool { return c == conv })
		return
	}
	w.kept[conv] = keptWindow{rev, slices.Clone(rows)}
	w.touchLocked(conv)
	if len(w.order) > maxWindows {
		delete(w.kept, w.order[0])
		w.order = slices.Delete(w.order, 0, 1)
	}
}

func (w *windows) touchLocked(conv core.ConversationID) {
	w.order = append(slices.DeleteFunc(w.order, func(c core.ConversationID) bool { return c == conv }), conv)
}

// clear drops all windows.
func (w *windows) clear() {
	w.mu.Lock()
	defer w.mu.Unlock()
	clear(w.kept)
	w.order = nil
}
