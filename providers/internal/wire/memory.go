package wire

import (
	"maps"
	"sync"
	"time"
)

// Refusals are what a model refused lately, by the names that a wire has for the parts of its requests.
type Refusals[P ~string] struct {
	parts map[P]time.Time
	Limit int // the highest limit of an answer that it takes; 0: any
}

// Has reports whether a part was refused lately.
func (r Refusals[P]) Has(part P) bool {
	at, ok := r.parts[part]
	return ok && time.Since(at) < RefusalFresh
}

// RefusalMemory remembers what models refused. It is safe for concurrent use; the zero value knows nothing.
type RefusalMemory[P ~string] struct {
	mu     sync.Mutex
	models map[string]Refusals[P]
}

// Of returns what to leave out of a model's requests.
func (m *RefusalMemory[P]) Of(model string) Refusals[P] {
	m.mu.Lock()
	defer m.mu.Unlock()
	known := m.models[model]
	return Refusals[P]{parts: maps.Clone(known.parts), Limit: known.Limit}
}

// Learn remembers a part, or a limit above the given one, that was refused of a request from which the parts refused before were
// left out. It reports whether a retry may help: not without what was left out already. A limit may be refused more than once.
func (m *RefusalMemory[P]) Learn(model string, before Refusals[P], part P, limit int) bool {
	if part == "" || limit == 0 && before.Has(part) {
		return false
	}
	m.Add(model, part, limit)
	return true
}

// Add remembers that a model refused a part, or a limit above the given one.
func (m *RefusalMemory[P]) Add(model string, part P, limit int) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.models == nil {
		m.models = map[string]Refusals[P]{}
	}
	known := m.models[model]
	if known.parts == nil {
		known.parts = map[P]time.Time{}
	}
	known.parts[part] = time.Now()
	if limit > 0 {
		known.Limit = limit
	}
	m.models[model] = known
}
