package storage

import (
	"encoding/json"
	"time"

	"loci/core"
)

// micros is a time as it is stored: microseconds since 1970; 0 is no time.
type micros int64

func toMicros(t time.Time) micros {
	if t.IsZero() {
		return 0
	}
	return micros(t.UnixMicro())
}

func (m micros) time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

// encode returns the JSON column of a noun.
func encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", core.E(core.Internal, "encode a row: %w", err)
	}
	return string(b), nil
}

func decode(data string, v any) error {
	if err := json.Unmarshal([]byte(data), v); err != nil {
		return core.E(core.Internal, "decode a row: %w", err).WithHint("the database file may be damaged; `loci doctor` checks it")
	}
	return nil
}

// notFound says what does not exist.
func notFound(noun string, id string) error {
	return core.E(core.NotFound, "%s %s does not exist", noun, id)
}

// convert maps rows to nouns.
func convert[R, N any](rows []R, f func(*R) (N, error)) ([]N, error) {
	out := make([]N, 0, len(rows))
	for i := range rows {
		n, err := f(&rows[i])
		if err != nil {
			return nil, err
		}
		out = append(out, n)
	}
	return out, nil
}
