package providers

import (
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
)

// refusalMemory is what a server's refusals have taught us. The zero value knows nothing.
type refusalMemory struct {
	mu     sync.Mutex
	tools  map[string]refusedPart // by model
	images map[string]refusedPart // by model
	stale  map[uint64]bool        // hashes of native items that were refused
	seed   maphash.Seed
}

// refusedPart is when a model refused a part of requests, and in which words.
type refusedPart struct {
	at    time.Time
	words string
}

// mostStale bounds what is remembered: a conversation has one item per answer in its window.
const mostStale = 10_000

func (l *refusalMemory) noTools(model, words string, now time.Time) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.tools == nil {
		l.tools = map[string]refusedPart{}
	}
	l.tools[model] = refusedPart{now, words}
}

// toolless returns in which words a model has refused tools, unless that is long ago.
func (l *refusalMemory) toolless(model string, now time.Time) (words string, ok bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	r, ok := l.tools[model]
	return r.words, ok && now.Sub(r.at) < wire.RefusalFresh
}

// refused remembers the native items of a request, so that no later request sends them again.
func (l *refusalMemory) refused(req core.ChatRequest) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.stale == nil || len(l.stale) > mostStale {
		l.stale, l.seed = map[uint64]bool{}, maphash.MakeSeed()
	}
	for _, m := range req.Messages {
		if m.Native != nil {
			l.stale[maphash.Bytes(l.seed, m.Native.Data)] = true
		}
	}
}

// fresh returns the request without native items that were refused; their normalised form is sent instead.
func (l *refusalMemory) fresh(req core.ChatRequest) core.ChatRequest {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.stale) == 0 {
		return req
	}
	req.Messages = slices.Clone(req.Messages)
	for i, m := range req.Messages {
		if m.Native != nil && l.stale[maphash.Bytes(l.seed, m.Native.Data)] {
			req.Messages[i].Native = nil
		}
	}
	return req
}

// staleWords is how servers say that reasoning they gave out is no longer valid: it belongs to another account or model,
// or to a prefix that has changed.
var staleWords = []string{
	"encrypted content",
	"encrypted_content",
	"invalid `signature`",
	"thinking blocks cannot be modified",
	"thought signature",
}

// stale reports whether a request failed only because of the native items it sent back.
func stale(err error) bool {
	text := strings.ToLower(err.Error())
	return core.KindOf(err) == core.Invalid && slices.ContainsFunc(staleWords, func(w string) bool { return strings.Contains(text, w) })
}
