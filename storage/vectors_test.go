package storage

import (
	"context"
	"fmt"
	"hash/fnv"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/coretest"
	"loci/core/finder"
	"loci/storage/datadir"
	"loci/storage/sqlite"
	"loci/storage/vectors"
	"loci/storage/view"
)

const testDim = 24

// madeUp is the model of the tests' vectors. It isn't the built-in one, whose meaning alone has to stand out further.
const madeUp core.Handle = "test/directions"

// meaningOf is a fixed random direction for each text.
func meaningOf(text string) []float32 {
	h := fnv.New64a()
	_, _ = h.Write([]byte(text))
	r := rand.New(rand.NewPCG(h.Sum64(), 1))
	v := make([]float32, testDim)
	for i := range v {
		v[i] = float32(r.NormFloat64())
	}
	return v
}

// library is a store with an archive whose texts the test embeds itself.
type library struct {
	*testing.T
	dir     string
	s       *Store
	archive core.ArchiveID
}

func newLibrary(t *testing.T) *library {
	t.Helper()
	l := &library{T: t, dir: t.TempDir()}
	l.open()
	t.Cleanup(func() { l.check(l.s.Close()) })
	l.archive = l.newArchive()
	return l
}

func (l *library) check(err error) {
	l.Helper()
	if err != nil {
		l.Fatal(err)
	}
}

func (l *library) open() {
	l.Helper()
	var err error
	l.s, err = Open(context.Background(), Config{Dir: l.dir})
	l.check(err)
}

func (l *library) newArchive() core.ArchiveID {
	l.Helper()
	a := core.Archive{ID: core.NewArchiveID(), Name: "a", Embedding: madeUp, CreatedAt: time.Now(), UpdatedAt: time.Now()}
	l.check(l.s.Archives().Create(l.Context(), &a))
	return a.ID
}

func (l *library) insert(archive core.ArchiveID, tags []string, texts ...string) []core.Passage {
	l.Helper()
	ps := make([]*core.Passage, len(texts))
	out := make([]core.Passage, len(texts))
	for i, text := range texts {
		ps[i] = &core.Passage{
			ID:        core.NewPassageID(),
			Archive:   archive,
			Text:      text,
			Tags:      tags,
			CreatedAt: time.UnixMicro(int64(1_000_000 * (i + 1))),
			UpdatedAt: time.Now(),
		}
	}
	l.check(l.s.Passages().Insert(l.Context(), ps...))
	for i := range ps {
		out[i] = *ps[i]
	}
	return out
}

// embed gives everything that waits its vector.
func (l *library) embed() {
	l.Helper()
	store := l.s.Vectors()
	for {
		page, err := store.Waiting(l.Context(), 0, 300)
		l.check(err)
		if len(page) == 0 {
			return
		}
		var done []core.EmbeddingResult
		for _, u := range page {
			e := core.EmbeddingResult{EmbeddingTask: u}
			if u.Text != "" {
				e.Vector = meaningOf(u.Text)
			}
			done = append(done, e)
		}
		l.check(store.Put(l.Context(), done...))
	}
}

// indexed waits until the index has everything, which on a busy machine takes longer than a search waits.
func (l *library) indexed() {
	l.Helper()
	_, last, err := source{l.s.quiet}.Bounds(l.Context())
	l.check(err)
	if !l.s.search.Words.Wait(l.Context(), last, 5*time.Minute) {
		l.Fatal("the index does not catch up")
	}
}

// byMeaning returns the passages found for a text that shares no word with any.
func (l *library) byMeaning(like string, f core.PassageFilter) []core.PassageHit {
	l.Helper()
	l.indexed()
	hits, err := matchPassages(l.Context(), l.s, core.SearchQuery{
		Text: "xylophone", Limit: 50, Vectors: map[core.Handle][]float32{madeUp: meaningOf(like)},
	}, f)
	l.check(err)
	return hits
}

func TestWhatMeansTheSameIsFoundWithoutAWord(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	other := l.newArchive()
	var texts []string
	for i := range 400 {
		texts = append(texts, fmt.Sprintf("text number %d", i))
	}
	ps := l.insert(l.archive, []string{"even"}, texts[:200]...)
	l.insert(l.archive, []string{"odd", "both"}, texts[200:]...)
	l.insert(other, nil, texts...)
	if hits := l.byMeaning(texts[7], core.PassageFilter{}); len(hits) != 0 {
		t.Errorf("found before there was a vector: %v", hits)
	}
	l.embed()
	in := core.PassageFilter{Archives: []core.ArchiveID{l.archive}}
	first := func(f core.PassageFilter) string {
		if hits := l.byMeaning(texts[7], f); len(hits) > 0 && hits[0].Why.Vector > 2 {
			return hits[0].Passage.Text
		}
		return ""
	}
	tagged := in
	tagged.Tags = []string{"even"}
	both := in
	both.Tags, both.AllTags = []string{"even", "odd"}, true
	early := in
	early.Until = time.UnixMicro(7_000_000)
	for name, c := range map[string]struct {
		f    core.PassageFilter
		want bool
	}{
		"everywhere": {core.PassageFilter{}, true}, "its archive": {in, true}, "its tag": {tagged, true},
		"tags that nothing has": {both, false}, "before it": {early, false},
	} {
		if got := first(c.f); (got == texts[7]) != c.want {
			t.Errorf("%s: found %q", name, got)
		}
	}
	p := ps[7]
	p.Tags = []string{"odd"}
	l.check(l.s.Passages().Update(t.Context(), &p, core.Author{}))
	if got := first(tagged); got == texts[7] {
		t.Error("found under a tag that it lost")
	}
	if page, err := l.s.Vectors().Waiting(t.Context(), 0, 10); err != nil || len(page) != 0 {
		t.Errorf("another tag made it wait for another vector: %v %v", page, err)
	}
	p.Text = "quite another text"
	l.check(l.s.Passages().Update(t.Context(), &p, core.Author{}))
	if got := first(in); got == texts[7] {
		t.Error("found by what it was")
	}
	l.embed()
	if hits := l.byMeaning("quite another text", in); len(hits) == 0 || hits[0].Passage.ID != p.ID {
		t.Errorf("not found by what it is: %v", hits)
	}
}

func TestVectorsGoWithTheirOwners(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	ps := l.insert(l.archive, nil, "one", "two", "three")
	agent := newAgent(t, l.s)
	m := core.Message{
		ID:           core.NewMessageID(),
		Agent:        agent,
		Conversation: core.DefaultConversation(agent),
		Role:         core.RoleUser,
		Content:      []core.Content{core.Text("hello there")},
		CreatedAt:    time.Now(),
	}
	l.check(l.s.Messages().Insert(t.Context(), &m))
	tool := m
	tool.ID, tool.Role = core.NewMessageID(), core.RoleTool
	l.check(l.s.Messages().Insert(t.Context(), &tool))
	l.embed()
	have := func() map[core.VectorKind]int {
		all, err := l.s.Vectors().Made(t.Context())
		l.check(err)
		out := map[core.VectorKind]int{}
		for _, c := range all {
			out[c.Kind] += c.Count
		}
		return out
	}
	if diff := cmp.Diff(map[core.VectorKind]int{"passage": 3, "message": 1}, have()); diff != "" {
		t.Error(diff)
	}
	l.check(l.s.Passages().Delete(t.Context(), ps[0].ID))
	l.check(l.s.Archives().Delete(t.Context(), l.archive))
	l.check(l.s.Agents().Delete(t.Context(), agent))
	_, err := l.s.Sweep(t.Context())
	l.check(err)
	if diff := cmp.Diff(map[core.VectorKind]int{"passage": 0, "message": 0}, have()); diff != "" {
		t.Error(diff)
	}
}

func TestAVectorThatComesTooLateStandsForNothing(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	ps := l.insert(l.archive, nil, "before")
	page, err := l.s.Vectors().Waiting(t.Context(), 0, 10)
	l.check(err)
	p := ps[0]
	p.Text = "after"
	l.check(l.s.Passages().Update(t.Context(), &p, core.Author{}))
	late := core.EmbeddingResult{EmbeddingTask: page[0], Vector: meaningOf("before")}
	l.check(l.s.Vectors().Put(t.Context(), late, late))
	progress, err := l.s.Vectors().Progress(t.Context())
	made, also := l.s.Vectors().Made(t.Context())
	if err != nil || also != nil || progress.Waiting != 1 || len(made) != 0 {
		t.Errorf("%+v %+v %v %v", progress, made, err, also)
	}
	page, err = l.s.Vectors().Waiting(t.Context(), 0, 10)
	l.check(err)
	l.check(l.s.Vectors().Put(t.Context(), late, core.EmbeddingResult{EmbeddingTask: page[0], Vector: meaningOf("after")}))
	if progress, err = l.s.Vectors().Progress(t.Context()); err != nil || progress.Waiting != 0 {
		t.Errorf("beside one that is late: %+v %v", progress, err)
	}
	bad := core.EmbeddingResult{EmbeddingTask: page[0], Vector: make([]float32, 3)}
	if err := l.s.Vectors().Put(t.Context(), bad); core.KindOf(err) != core.Invalid {
		t.Errorf("zeros were taken: %v", err)
	}
}

// TestMeaningSurvivesAnyHistory compares with the brute force over what is stored, after every kind of interruption.
func TestMeaningSurvivesAnyHistory(t *testing.T) {
	t.Parallel()
	for seed := range uint64(3) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			t.Parallel()
			l := newLibrary(t)
			r := rand.New(rand.NewPCG(seed, 9))
			stored := map[core.PassageID]core.Passage{}
			backup := filepath.Join(t.TempDir(), "copy.db")
			var saved map[core.PassageID]core.Passage
			n := 0
			for range 40 {
				switch r.IntN(8) {
				case 0, 1, 2:
					var texts []string
					for range r.IntN(60) {
						n++
						texts = append(texts, fmt.Sprintf("text number %d", n))
					}
					for _, p := range l.insert(l.archive, nil, texts...) {
						stored[p.ID] = p
					}
				case 3:
					for id := range stored {
						if r.IntN(4) == 0 {
							l.check(l.s.Passages().Delete(t.Context(), id))
							delete(stored, id)
						}
					}
				case 4:
					for id, p := range stored {
						if r.IntN(6) == 0 {
							n++
							p.Text = fmt.Sprintf("text number %d", n)
							l.check(l.s.Passages().Update(t.Context(), &p, core.Author{}))
							stored[id] = p
						}
					}
				case 5:
					l.embed()
				case 6:
					l.check(l.s.Close())
					interrupt(l, r.IntN(4))
					l.open()
				case 7:
					if saved == nil {
						l.check(WriteBackup(t.Context(), l.s, backup))
						saved = map[core.PassageID]core.Passage{}
						for id, p := range stored {
							saved[id] = p
						}
					} else if r.IntN(3) == 0 {
						l.check(l.s.Close())
						_, err := restore(t, l.dir, backup)
						l.check(err)
						stored = map[core.PassageID]core.Passage{}
						for id, p := range saved {
							stored[id] = p
						}
						l.open()
					}
				}
			}
			l.embed()
			compare(l, stored)
		})
	}
}

// interrupt does to the code files of a closed home what happens to files.
func interrupt(l *library, how int) {
	l.Helper()
	paths, err := filepath.Glob(filepath.Join(l.dir, view.VectorFiles+"*"+vectors.Ending))
	l.check(err)
	for _, p := range paths {
		switch how {
		case 1:
			l.check(os.Remove(p))
		case 2:
			l.check(os.Truncate(p, 1000))
		case 3:
			data, err := os.ReadFile(p)
			l.check(err)
			for i := 20; i < len(data); i += 4099 {
				data[i] ^= 0xff
			}
			l.check(os.WriteFile(p, data, 0o600))
		}
	}
}

func compare(l *library, stored map[core.PassageID]core.Passage) {
	l.Helper()
	for _, like := range []string{"text number 3", "text number 30", "something else"} {
		unit, _ := vectors.Unit(meaningOf(like))
		type one struct {
			id  core.PassageID
			seq int64
			z   float64
		}
		var all []one
		var sum, squares float64
		for id, p := range stored {
			c := 0.0
			v, _ := vectors.Unit(meaningOf(p.Text))
			for i := range v {
				c += float64(v[i]) * float64(unit[i])
			}
			sum, squares = sum+c, squares+c*c
			all = append(all, one{id, p.Seq, c})
		}
		mean := sum / float64(len(all))
		variance := squares/float64(len(all)) - mean*mean
		want := map[core.PassageID]bool{}
		for _, a := range all {
			if z := (a.z - mean) / math.Sqrt(variance); z > 2.0001 {
				want[a.id] = true
			}
		}
		got := map[core.PassageID]bool{}
		for _, h := range l.byMeaning(like, core.PassageFilter{Archives: []core.ArchiveID{l.archive}}) {
			if h.Why.Vector > 2.0001 {
				got[h.Passage.ID] = true
			}
		}
		if diff := cmp.Diff(want, got); diff != "" {
			l.Errorf("%q among %d: %s", like, len(stored), diff)
		}
	}
}

func TestAHomeFromBeforeVectorsIsEmbedded(t *testing.T) {
	t.Parallel()
	l := newLibrary(t)
	l.insert(l.archive, nil, "kept from before")
	l.check(l.s.Close())
	db, err := sqlite.OpenPool(t.Context(), filepath.Join(l.dir, datadir.FactsFile), sqlite.Full, false)
	l.check(err)
	var triggers []string
	l.check(
		db.SelectContext(
			t.Context(),
			&triggers,
			`SELECT name FROM sqlite_master WHERE type = 'trigger' AND (name LIKE 'vectors%' OR sql LIKE '%vector_%')`,
		),
	)
	if len(triggers) < 8 {
		t.Errorf("triggers: %v", triggers)
	}
	for _, name := range triggers {
		_, err = db.ExecContext(t.Context(), `DROP TRIGGER `+name)
		l.check(err)
	}
	for _, table := range []string{"vectors", "vector_sets", "vector_gone", "vector_queue", "vector_moves"} {
		_, err = db.ExecContext(t.Context(), `DROP TABLE `+table)
		l.check(err)
	}
	_, err = db.ExecContext(t.Context(), `DELETE FROM goose_db_version WHERE version_id = 4`)
	l.check(err)
	l.check(db.Close())
	l.open()
	page, err := l.s.Vectors().Waiting(t.Context(), 0, 10)
	if err != nil || len(page) != 1 || page[0].Text != "kept from before" || page[0].Model != madeUp {
		t.Errorf("%+v %v", page, err)
	}
	entries, err := os.ReadDir(l.dir)
	l.check(err)
	if !slices.ContainsFunc(entries, func(e os.DirEntry) bool { return strings.HasPrefix(e.Name(), "loci-v") }) {
		t.Error("no copy was made before the migration")
	}
}

// TestASearchThatFindsTheVectorsDamagedGoesByWordsAndSaysSo: they are made anew meanwhile.
func TestASearchThatFindsTheVectorsDamagedGoesByWordsAndSaysSo(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("thousands of texts are written")
	}
	l := newLibrary(t)
	texts := make([]string, 4200) // more than a block
	for i := range texts {
		texts[i] = fmt.Sprintf("text number %d", i)
	}
	l.insert(l.archive, nil, texts...)
	l.embed()
	ask := core.SearchQuery{Text: "number 4001", Vectors: map[core.Handle][]float32{madeUp: meaningOf(texts[7])}}
	search := func() core.Results[core.PassageHit] {
		found, err := finder.New(finder.Config{Store: l.s}).Passages(l.Context(), ask, core.PassageFilter{})
		if err != nil || len(found.Hits) == 0 {
			l.Fatalf("%d found, %v", len(found.Hits), err)
		}
		return found
	}
	coretest.Until(t, "a search is whole", func() bool { return !search().Partial })
	codes, err := filepath.Glob(filepath.Join(l.dir, view.VectorFiles+"*"))
	l.check(err)
	coretest.Until(t, "a search meets the damage", func() bool {
		for _, path := range codes {
			l.check(os.Truncate(path, 0))
		}
		found := search()
		if found.Hits[0].Passage.Text != texts[4001] {
			t.Errorf("found %+v", found)
		}
		meant := func(h core.PassageHit) bool { return h.Passage.Text == texts[7] && h.Why.Vector > 0 }
		if !found.Partial && !slices.ContainsFunc(found.Hits, meant) { // else the codes were made anew in time
			t.Errorf("goes by words and doesn't say so: %+v", found)
		}
		return found.Partial
	})
	coretest.Until(t, "a search is whole", func() bool { return !search().Partial })
}
