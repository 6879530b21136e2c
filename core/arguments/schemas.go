package arguments

import (
	"encoding/json"
	"log/slog"
	"sync"
)

// maxSchemas bounds how many compiled schemas are kept. Tools are few; those of requests come and go.
const maxSchemas = 256

// Schemas keeps compiled schemas by their text. It is safe for concurrent use.
type Schemas struct {
	logger *slog.Logger
	mu     sync.Mutex         // guards known
	known  map[string]*Schema // nil: it can't be judged by
}

// NewSchemas returns an empty cache.
func NewSchemas(logger *slog.Logger) *Schemas {
	return &Schemas{logger: logger, known: map[string]*Schema{}}
}

// Check judges arguments by a schema. One that can't be judged by is told in the log, once, and judges nothing.
func (s *Schemas) Check(schema json.RawMessage, text string) error {
	compiled := s.compiled(schema)
	if compiled == nil {
		return nil
	}
	return compiled.Check(text)
}

func (s *Schemas) compiled(schema json.RawMessage) *Schema {
	s.mu.Lock()
	known, ok := s.known[string(schema)]
	s.mu.Unlock()
	if ok {
		return known
	}
	compiled, err := Compile(schema)
	if err != nil {
		s.logger.Warn("arguments are not checked against a schema", slog.Any("error", err))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.known) >= maxSchemas {
		clear(s.known)
	}
	s.known[string(schema)] = compiled
	return compiled
}
