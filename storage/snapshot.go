package storage

import (
	"bytes"
	"compress/flate"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"sync"
	"time"

	"loci/core"
	"loci/storage/sqlite"
)

type snapshots struct{ v *scope }

// maxSnapshot bounds what a damaged row may unpack to, in bytes.
const maxSnapshot = 256 << 20

func (s snapshots) Put(ctx context.Context, kind core.SnapshotKind, body string) (string, error) {
	sum := sha256.Sum256([]byte(string(kind) + "\n" + body))
	hash := hex.EncodeToString(sum[:])
	err := s.v.write(ctx, "put snapshot", func(ctx context.Context, q *sqlite.Querier) error {
		var redacted int64
		if known, err := q.Find(
			ctx,
			&redacted,
			`SELECT redacted FROM snapshots WHERE hash = $1`,
			hash,
		); err != nil ||
			known && redacted == 0 {
			return err
		}
		packed, err := Pack(body)
		if err != nil {
			return err
		}
		// What was forgotten was said again, and sent.
		_, err = q.Exec(ctx, `INSERT INTO snapshots (hash, kind, body) VALUES ($1, $2, $3)
			ON CONFLICT (hash) DO UPDATE SET body = excluded.body, redacted = 0`, hash, kind, packed)
		return err
	})
	return hash, err
}

func (s snapshots) Get(ctx context.Context, hash string) (core.SnapshotKind, string, error) {
	ctx, q := s.v.read(ctx)
	var row struct {
		Kind core.SnapshotKind `db:"kind"`
		Body []byte            `db:"body"`
	}
	ok, err := q.Find(ctx, &row, `SELECT kind, body FROM snapshots WHERE hash = $1`, hash)
	if err != nil {
		return "", "", sqlite.Classify("get snapshot", err)
	}
	if !ok {
		return "", "", sqlite.NotFound("snapshot", hash)
	}
	body, err := Unpack(row.Body)
	return row.Kind, body, err
}

// packers keep the tables of compression, which are larger than most of what is compressed.
var packers = sync.Pool{New: func() any {
	z, _ := flate.NewWriter(nil, flate.DefaultCompression) // fails for a level that does not exist
	return z
}}

func (s snapshots) RedactedAt(ctx context.Context, hashes ...string) (time.Time, error) {
	ctx, q := s.v.read(ctx)
	w := &sqlite.Where{}
	w.And("redacted > 0")
	sqlite.In(w, "hash", hashes)
	var at sqlite.Micros
	err := q.Get(ctx, &at, `SELECT COALESCE(MAX(redacted), 0) FROM snapshots`+w.String(), w.Args...)
	return at.Time(), sqlite.Classify("look at snapshots", err)
}

// Pack compresses the body of a snapshot, or the text of a file.
func Pack(body string) ([]byte, error) {
	var b bytes.Buffer
	z, _ := packers.Get().(*flate.Writer)
	defer packers.Put(z)
	z.Reset(&b)
	_, err := io.WriteString(z, body)
	if cerr := z.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return nil, core.E(core.Internal, "compress a snapshot: %w", err)
	}
	return b.Bytes(), nil
}

// Unpack returns what was packed.
func Unpack(packed []byte) (string, error) {
	u, _ := unpackers.Get().(*unpacker)
	defer unpackers.Put(u)
	body, err := u.unpack(packed)
	return string(body), err
}

// unpacker keeps what decompression needs, which is larger than most of what it yields.
type unpacker struct {
	in  *bytes.Reader
	z   io.ReadCloser
	out bytes.Buffer
}

// maxKept bounds the room that an unpacker keeps for the next body, in bytes.
const maxKept = 1 << 20

var unpackers = sync.Pool{New: func() any {
	in := bytes.NewReader(nil)
	return &unpacker{in: in, z: flate.NewReader(in)}
}}

// unpack returns a body that is good until the next one.
func (u *unpacker) unpack(packed []byte) ([]byte, error) {
	u.in.Reset(packed)
	if u.out.Cap() > maxKept {
		u.out = bytes.Buffer{}
	}
	u.out.Reset()
	var err error
	if z, ok := u.z.(flate.Resetter); ok {
		err = z.Reset(u.in, nil)
	}
	if err == nil {
		_, err = u.out.ReadFrom(io.LimitReader(u.z, maxSnapshot))
	}
	if err != nil {
		return nil, core.E(core.Internal, "unpack a snapshot: %w", err)
	}
	return u.out.Bytes(), nil
}
