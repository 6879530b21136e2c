package embedding

import (
	"crypto/sha256"

	"loci/core"
)

func contentKey(model core.Handle, text string) [sha256.Size]byte {
	return sha256.Sum256([]byte(string(model) + "\x00" + text))
}

func (w *Worker) cached(key [sha256.Size]byte) ([]float32, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	v, ok := w.cache[key]
	return v, ok
}

// Forget drops all cached vectors.
func (w *Worker) Forget() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.forgetLocked()
}

func (w *Worker) forgetLocked() {
	clear(w.cache)
	w.order, w.bytes = nil, 0
}

// remember caches a vector by the content of its text.
func (w *Worker) remember(key [sha256.Size]byte, v []float32) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if _, ok := w.cache[key]; ok {
		return
	}
	size := func(v []float32) int { return 4*len(v) + 4*sha256.Size }
	w.cache[key], w.order, w.bytes = v, append(w.order, key), w.bytes+size(v)
	for w.bytes > cacheBytes {
		w.bytes -= size(w.cache[w.order[0]])
		delete(w.cache, w.order[0])
		w.order = w.order[1:]
	}
}
