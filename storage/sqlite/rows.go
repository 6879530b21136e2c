package sqlite

import (
	"encoding/json"
	"iter"
	"slices"
	"time"

	"loci/core"
)

// Micros is a time as stored: microseconds since 1970; 0 means no time.
type Micros int64

func ToMicros(t time.Time) Micros {
	if t.IsZero() {
		return 0
	}
	return Micros(t.UnixMicro())
}

func (m Micros) Time() time.Time {
	if m == 0 {
		return time.Time{}
	}
	return time.UnixMicro(int64(m)).UTC()
}

// Encode returns the JSON column of a noun.
func Encode(v any) (string, error) {
	b, err := json.Marshal(v)
	if err != nil {
		return "", core.E(core.Internal, "encode a row: %w", err)
	}
	return string(b), nil
}

func Decode(data string, v any) error {
	if err := json.Unmarshal([]byte(data), v); err != nil {
		return core.E(core.Internal, "its row is damaged").WithHint("`loci doctor` checks the database file")
	}
	return nil
}

// NotFound returns the error for something that doesn't exist.
func NotFound(noun string, id string) error {
	return core.E(core.NotFound, "%s %s does not exist", noun, id)
}

// Convert maps rows to nouns.
func Convert[R, N any](rows []R, f func(*R) (N, error)) ([]N, error) {
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

// chunkSize bounds how many ids one statement names.
const chunkSize = 500

// Chunks are parts of a list that are short enough for one statement.
func Chunks[T any](all []T) iter.Seq[[]T] { return slices.Chunk(all, chunkSize) }
