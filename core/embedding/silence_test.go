package embedding

import (
	"context"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"loci/core"
)

// slow is a model that takes its time.
type slow struct {
	time.Duration
	err error
}

func (s slow) Embed(ctx context.Context, texts []string) ([][]float32, error) {
	select {
	case <-time.After(s.Duration):
		return make([][]float32, len(texts)), s.err
	case <-ctx.Done():
		return nil, core.E(core.Timeout, "no answer")
	}
}

const hour = time.Hour

// bubble calls what it is given with a worker and a clock of its own.
func bubble(t *testing.T, do func(w *Worker, ask func(m core.Embedder, most time.Duration, texts ...string))) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		t.Helper()
		w := newWorker(Config{})
		do(w, func(m core.Embedder, most time.Duration, texts ...string) {
			ctx, cancel := context.WithTimeout(t.Context(), most)
			defer cancel()
			_, _ = w.ask(ctx, "vendor/small", m, texts) // its answer is none of ours
		})
	})
}

func TestAModelThatIsSlowWithLongTextsHasNotStalled(t *testing.T) {
	t.Parallel()
	bubble(t, func(w *Worker, ask func(m core.Embedder, most time.Duration, texts ...string)) {
		load := strings.Repeat("x", embedLoad/4)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 3 {
				ask(slow{Duration: embedTimeout - time.Second}, embedTimeout, load, load, load, load)
				if w.Stalled("vendor/small") != nil {
					t.Error("it has just answered")
				}
			}
		}()
		for range 3 * 110 {
			<-time.After(time.Second)
			if s := w.Stalled("vendor/small"); s != nil {
				t.Fatal(s)
			}
		}
		ask(slow{Duration: hour}, queryTimeout, "a query") // behind the texts
		if s := w.Stalled("vendor/small"); s != nil {
			t.Error(s)
		}
		<-done
	})
}

func TestAModelHasStalledThatDoesNotAnswerAFewWords(t *testing.T) {
	t.Parallel()
	bubble(t, func(w *Worker, ask func(m core.Embedder, most time.Duration, texts ...string)) {
		began := time.Now()
		done := make(chan struct{})
		go func() {
			defer close(done)
			ask(slow{Duration: time.Minute}, embedTimeout, "a note on boats")
		}()
		<-time.After(9 * time.Second)
		if s := w.Stalled("vendor/small"); s != nil {
			t.Error(s, "too early")
		}
		<-time.After(2 * time.Second)
		s := w.Stalled("other/one", "vendor/small")
		if s == nil || !s.Since.Equal(began) || s.Model != "vendor/small" || w.Stalled("other/one") != nil || w.Stalled() != nil {
			t.Error(s)
		}
		<-done
		if s := w.Stalled("vendor/small"); s != nil {
			t.Error(s, "although it has answered")
		}
	})
}

func TestAModelThatNobodyAsksAnyMoreIsNotCalledStalledForEver(t *testing.T) {
	t.Parallel()
	bubble(t, func(w *Worker, ask func(m core.Embedder, most time.Duration, texts ...string)) {
		began := time.Now()
		query := func() {
			<-time.After(time.Minute)
			ask(slow{Duration: hour}, queryTimeout, "boats")
		}
		for range 4 {
			query()
		}
		if s := w.Stalled("vendor/small"); s != nil {
			t.Error(s, "after 8 seconds in all")
		}
		query()
		query()
		<-time.After(longestRest)
		if s := w.Stalled("vendor/small"); s == nil || !s.Since.Equal(began.Add(time.Minute)) {
			t.Error(s)
		}
		<-time.After(2 * time.Minute)
		if s := w.Stalled("vendor/small"); s != nil {
			t.Error(s, "which nobody knows")
		}
		again := time.Now().Add(time.Minute)
		for range 6 {
			query()
		}
		if s := w.Stalled("vendor/small"); s == nil || !s.Since.Equal(again) {
			t.Error(s, "since before it was forgotten")
		}
		<-time.After(time.Minute)
		ask(slow{err: core.E(core.RateLimited, "slow down")}, queryTimeout, "boats")
		query()
		if s := w.Stalled("vendor/small"); s != nil {
			t.Error(s, "although it has refused")
		}
	})
}

func (h *keeping) patience(d time.Duration) {
	h.embedding.mu.Lock()
	defer h.embedding.mu.Unlock()
	h.embedding.patience = d
}

func TestAServerThatTakesTextsAndNeverAnswersIsCalledStalled(t *testing.T) {
	t.Parallel()
	asked, answer := make(chan struct{}, 10), make(chan struct{})
	m := &embedders{stall: func(model core.Handle, texts []string) error {
		if model == core.WordsHandle {
			return nil
		}
		if texts[0] == "boats" { // the query
			select {
			case <-answer:
				return nil
			default:
				return core.E(core.Timeout, "no answer")
			}
		}
		asked <- struct{}{}
		<-answer
		return nil
	}}
	h := newKeeping(t, m, "vendor/small")
	release := sync.OnceFunc(func() { close(answer) })
	t.Cleanup(release)
	other := core.Archive{ID: core.NewArchiveID(), Name: "other", CreatedAt: time.Now(), UpdatedAt: time.Now()}
	h.ok(h.store.Archives().Create(t.Context(), &other))
	h.patience(1)
	began := time.Now()
	h.insert("a note on boats")
	<-asked
	status := func() Trouble {
		t.Helper()
		_, troubles, err := h.embedding.Status(t.Context())
		h.ok(err)
		if len(troubles) == 0 {
			return Trouble{}
		}
		return troubles[0]
	}
	h.until("the stall", func(core.VectorProgress) bool { return status().Stall != nil })
	got := status()
	if s := got.Stall; got.Model != "vendor/small" || s == nil || s.Since.Before(began) || got.Err == nil ||
		s.String() != "vendor/small has stalled: it takes requests and has not answered since "+s.Since.Format("2006-01-02 15:04") {
		t.Fatalf("%+v", got)
	}
	found, err := h.search.Passages(t.Context(), core.SearchQuery{Text: "boats"}, core.PassageFilter{})
	if err != nil || len(found.Hits) != 1 || found.Stalled == nil || *found.Stalled != *got.Stall {
		t.Errorf("a search says %v of it, %v: %+v", found.Stalled, err, found)
	}
	found, err = h.search.Passages(t.Context(), core.SearchQuery{Text: "boats"}, core.PassageFilter{Archives: []core.ArchiveID{other.ID}})
	if err != nil || found.Stalled != nil {
		t.Errorf("a search of another archive says %v, %v", found.Stalled, err)
	}
	release()
	h.done()
	if got := status(); got.Err != nil || h.embedding.Stalled("vendor/small") != nil {
		t.Errorf("a model that answers is called %+v", got)
	}
	found, err = h.search.Passages(t.Context(), core.SearchQuery{Text: "boats"}, core.PassageFilter{})
	if err != nil || found.Stalled != nil || found.Partial {
		t.Errorf("a search says %v of a model that answers, %v", found.Stalled, err)
	}
}

func TestAServerThatRefusesIsNotCalledStalled(t *testing.T) {
	t.Parallel()
	m := &embedders{}
	m.set(func(model core.Handle, _ []string, out [][]float32) ([][]float32, error) {
		if model != core.WordsHandle {
			return nil, core.E(core.Unavailable, "nothing answers at http://elsewhere")
		}
		return out, nil
	})
	h := newKeeping(t, m, "vendor/small")
	h.patience(1)
	h.insert("a note on boats")
	h.until("the trouble", func(core.VectorProgress) bool {
		_, troubles, err := h.embedding.Status(t.Context())
		h.ok(err)
		return len(troubles) > 0 && troubles[0].Stall == nil
	})
	if s := h.embedding.Stalled("vendor/small"); s != nil {
		t.Error(s)
	}
}
