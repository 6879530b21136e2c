package engine

import (
	"sync"
	"time"
)

// A model that has said nothing for defaultSilence is worth a word, or for saidSilence if watchers were told what it is
// waiting for: that takes a minute at most.
const (
	defaultSilence = 10 * time.Second
	saidSilence    = 6 // times as long
)

// silence calls a function if it isn't ended in time.
type silence struct {
	timer *time.Timer
	mu    sync.Mutex
	over  bool // guarded by mu
}

func newSilence(most time.Duration, tell func()) *silence {
	s := &silence{}
	s.timer = time.AfterFunc(most, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if !s.over {
			tell()
		}
	})
	return s
}

// end returns when the function has returned, or is certain not to be called.
func (s *silence) end() {
	s.timer.Stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	s.over = true
}
