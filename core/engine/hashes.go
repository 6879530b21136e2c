package engine

import "sync"

// hashes remembers which snapshots are stored, so that what did not change costs no statement.
type hashes struct {
	mu  sync.Mutex // guards set
	set map[string]struct{}
}

const maxHashes = 8192

func newHashes() *hashes { return &hashes{set: map[string]struct{}{}} }

func (h *hashes) has(hash string) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	_, ok := h.set[hash]
	return ok
}

func (h *hashes) add(hash string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.set) >= maxHashes {
		clear(h.set)
	}
	h.set[hash] = struct{}{}
}

func (h *hashes) clear() {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.set)
}
