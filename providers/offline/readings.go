package offline

import (
	"cmp"
	"strings"
	"sync"
)

// lists are the word lists in which every word of every entry is looked up, built on first use.
type lists struct {
	stops, beings map[string]bool
	kinds         map[string]string
}

var entryLists = sync.OnceValue(func() *lists {
	l := &lists{stops: map[string]bool{}, beings: map[string]bool{}, kinds: map[string]string{}}
	for _, w := range strings.Fields(stopwords) {
		l.stops[w] = true
	}
	for _, w := range strings.Fields(people + animals) {
		l.beings[w] = true
	}
	for _, pair := range strings.Fields(kinds) {
		w, kind, _ := strings.Cut(pair, "=")
		l.kinds[w] = cmp.Or(l.kinds[w], kind)
	}
	return l
})

// readings caches entries read from blocks, since each request brings all of them again. Entries don't change once made.
type readings struct {
	mu   sync.Mutex // guards all fields
	made map[string]*entry
	size int // bytes of text
}

// maxReadings limits the text whose entries are cached, in bytes; the entries take about twenty times as much.
const maxReadings = 256 << 10

// entry returns the entry of a text; the caller gets a copy.
func (r *readings) entry(text string) entry {
	if r == nil {
		return *newEntry(text)
	}
	r.mu.Lock()
	e := r.made[text]
	r.mu.Unlock()
	if e != nil {
		return *e
	}
	text = strings.Clone(text) // so that it doesn't keep the prompt in memory
	e = newEntry(text)
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.size+len(text) > maxReadings || r.made == nil {
		r.made, r.size = map[string]*entry{}, 0
	}
	if r.made[text] == nil {
		r.made[text] = e
		r.size += len(text)
	}
	return *e
}
