package embedding

import (
	"context"
	"time"
	"unicode/utf8"

	"loci/core"
)

// Limits on how long a model may be silent.
const (
	stallAfter     = 10 * time.Second          // asked in vain for this long in all, it is called stalled: loading one takes seconds
	slowest        = time.Second / 1000        // for each character more: a small machine embeds a thousand in a second
	forgottenAfter = longestRest + time.Minute // nobody asked it since, so nobody knows
)

// silence is a model that was asked and has not answered since.
type silence struct {
	since  time.Time
	out    int           // requests under way
	turned time.Time     // when out last became more than zero, or zero
	waited time.Duration // with requests under way, before that
	need   time.Duration // how long it may take
}

// ask sends texts to a model and notes since when it is silent. What is refused is answered, too.
func (w *Worker) ask(ctx context.Context, model core.Handle, embedder core.Embedder, texts []string) ([][]float32, error) {
	characters := 0
	for _, t := range texts {
		characters += utf8.RuneCountInString(t)
	}
	w.mu.Lock()
	now := time.Now()
	s := w.silentLocked(model, now)
	if s == nil {
		s = &silence{since: now}
		w.silent[model] = s
	}
	if s.out == 0 {
		s.turned = now
	}
	s.out++
	s.need = max(s.need, w.patience+time.Duration(characters)*slowest)
	w.mu.Unlock()

	vectors, err := embedder.Embed(ctx, texts)

	w.mu.Lock()
	defer w.mu.Unlock()
	now = time.Now()
	s.out--
	switch kind := core.KindOf(err); {
	case kind != core.Timeout && kind != core.Cancelled:
		if s.since, s.turned, s.waited = now, now, 0; s.out == 0 {
			delete(w.silent, model)
		}
	case s.out == 0:
		s.waited, s.turned = s.waited+now.Sub(s.turned), now
	}
	return vectors, err
}

// silentLocked returns the silence of a model, unless nobody has asked it for long.
func (w *Worker) silentLocked(model core.Handle, now time.Time) *silence {
	s := w.silent[model]
	if s != nil && s.out == 0 && now.Sub(s.turned) > forgottenAfter {
		delete(w.silent, model)
		return nil
	}
	return s
}

// stalledLocked says that a model has been silent for too long; nil: it has not.
func (w *Worker) stalledLocked(model core.Handle) *core.Stall {
	now := time.Now()
	s := w.silentLocked(model, now)
	if s == nil {
		return nil
	}
	waited := s.waited
	if s.out > 0 {
		waited += now.Sub(s.turned)
	}
	if waited < s.need {
		return nil
	}
	return &core.Stall{Model: model, Since: s.since}
}

// Stalled returns the first of some models that has been silent for too long; nil: none has.
func (w *Worker) Stalled(models ...core.Handle) *core.Stall {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, model := range models {
		if stall := w.stalledLocked(model); stall != nil {
			return stall
		}
	}
	return nil
}
