package providers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"sync"
	"time"

	"loci/core"
)

// What a shelf holds, and for how long.
const (
	shelfFresh   = 24 * time.Hour // how old a listing may be that stands in for one that is late
	shelfRenewed = time.Hour      // how often one that stayed the same is written again
	shelfKept    = 30 * 24 * time.Hour
	mostShelved  = 64      // listings
	mostOnShelf  = 5_000   // models of one
	largestShelf = 8 << 20 // bytes of the file
)

// lateAfter is how long a listing is waited for where one of before stands in for it.
const lateAfter = 700 * time.Millisecond

// shelf keeps listings over restarts, in a file of its own. It holds no key: what a listing belongs to is told by the provider's name,
// its address and its settings. Without a path it keeps nothing.
type shelf struct {
	path string
	log  *slog.Logger
	now  func() time.Time

	mu   sync.Mutex
	read bool
	all  map[string]shelved
}

// shelved is a listing on the shelf.
type shelved struct {
	Provider string           `json:"provider"`
	At       time.Time        `json:"at"`
	Models   []core.ModelInfo `json:"models"`
}

// shelfKey names the listing of an endpoint.
func (e endpoint) shelfKey() string {
	h := sha256.New()
	fmt.Fprintf(h, "%s\x00%s\x00%s\x00%+v", e.row.Name, e.base, e.protocol.Name(), e.row.models)
	return hex.EncodeToString(h.Sum(nil)[:12])
}

// get returns the listing of an endpoint that is no older than an age.
func (s *shelf) get(e endpoint, age time.Duration) (shelved, bool) {
	if s.path == "" {
		return shelved{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loadLocked()
	found, ok := s.all[e.shelfKey()]
	return found, ok && s.now().Sub(found.At) < age && len(found.Models) > 0
}

// put keeps the listing of an endpoint.
func (s *shelf) put(e endpoint, models []core.ModelInfo) {
	if s.path == "" || len(models) > mostOnShelf {
		return
	}
	models = slices.Clone(models)
	for i := range models {
		models[i].Own = nil // what only a wire can read
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loadLocked()
	before, known := s.all[e.shelfKey()]
	if known && s.now().Sub(before.At) < shelfRenewed && reflect.DeepEqual(before.Models, models) {
		return
	}
	for len(s.all) >= mostShelved {
		oldest := slices.MinFunc(slices.Collect(maps.Keys(s.all)), func(a, b string) int { return s.all[a].At.Compare(s.all[b].At) })
		delete(s.all, oldest)
	}
	s.all[e.shelfKey()] = shelved{Provider: e.row.Name, At: s.now().UTC(), Models: models}
	s.saveLocked()
}

// drop forgets what providers listed.
func (s *shelf) drop(names ...string) {
	if s.path == "" || len(names) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loadLocked()
	maps.DeleteFunc(s.all, func(_ string, one shelved) bool { return slices.Contains(names, one.Provider) })
	s.saveLocked()
}

// loadLocked reads the file once. One that can't be read is as good as none.
func (s *shelf) loadLocked() {
	if s.read {
		return
	}
	s.read, s.all = true, map[string]shelved{}
	info, err := os.Stat(s.path)
	if err != nil || !info.Mode().IsRegular() || info.Size() > largestShelf {
		return
	}
	text, err := os.ReadFile(s.path)
	if err == nil {
		err = json.Unmarshal(text, &s.all) //nolint:musttag // what a model is has Go's names in a file that nobody else reads
	}
	if err != nil || s.all == nil {
		s.log.Warn("remembered models are not read", slog.String("file", s.path))
		s.all = map[string]shelved{}
	}
	maps.DeleteFunc(s.all, func(_ string, one shelved) bool { return s.now().Sub(one.At) > shelfKept || one.At.After(s.now()) })
}

// saveLocked writes the file anew, so that a kill leaves the one of before.
func (s *shelf) saveLocked() {
	text, err := json.Marshal(s.all) //nolint:musttag // likewise
	if err == nil {
		err = replaceFile(s.path, text)
	}
	if err != nil {
		s.log.Warn("models are not remembered", slog.String("error", err.Error()))
	}
}

func replaceFile(path string, text []byte) error {
	part, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".part-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(part.Name()) }() // gone once it is renamed
	_, err = part.Write(text)
	if cerr := part.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(part.Name(), path)
}

// shelvedModels returns what an endpoint listed before, with the reason why it is not asked now.
func shelvedModels(found shelved, e endpoint, err error, now time.Time) []core.ModelInfo {
	why := e.failure(err, nil)
	if why == "" {
		why = e.row.Title + " cannot be reached"
	}
	models := slices.Clone(found.Models)
	for i := range models {
		if models[i].Hidden == "" {
			models[i].Hidden = why + " (listed " + core.InWords(max(now.Sub(found.At), time.Second).Truncate(time.Second)) + " ago)"
		}
	}
	return models
}

// listed returns what endpoints list, all asked at once. Where one is late that listed its models lately, that stands in, and the
// newest is fetched in the background; the models of one that fails are those of before, hidden.
func (p *Providers) listed(ctx context.Context, endpoints []endpoint, age time.Duration) [][]core.ModelInfo {
	out := make([][]core.ModelInfo, len(endpoints))
	var wg sync.WaitGroup
	for i, e := range endpoints {
		wg.Go(func() { out[i] = p.listedBy(ctx, e, age) })
	}
	wg.Wait()
	return out
}

func (p *Providers) listedBy(ctx context.Context, e endpoint, age time.Duration) []core.ModelInfo {
	before, known := p.shelf.get(e, shelfFresh)
	if !known {
		return p.fetched(ctx, e, age)
	}
	answered := make(chan []core.ModelInfo, 1)
	if !p.background(ctx, func(ctx context.Context) { answered <- p.fetched(ctx, e, age) }) {
		return p.fetched(ctx, e, age)
	}
	late := time.NewTimer(lateAfter)
	defer late.Stop()
	select {
	case models := <-answered:
		return models
	case <-late.C:
		return before.Models
	case <-ctx.Done():
		return nil
	}
}

// fetched asks an endpoint, and keeps what it lists.
func (p *Providers) fetched(ctx context.Context, e endpoint, age time.Duration) []core.ModelInfo {
	models, err := p.models(ctx, e, age)
	if err == nil {
		if len(models) > 0 {
			p.shelf.put(e, models)
		}
		return models
	}
	if found, ok := p.shelf.get(e, shelfKept); ok && ctx.Err() == nil {
		return shelvedModels(found, e, err, p.cfg.Now())
	}
	return nil
}

// background runs something that outlives who asked for it; Close ends it and waits for it. It reports false once that has begun.
func (p *Providers) background(ctx context.Context, run func(context.Context)) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return false
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(ctx))
	stop := context.AfterFunc(p.life, cancel)
	p.owned.Go(func() {
		defer cancel()
		defer stop()
		run(ctx)
	})
	return true
}
