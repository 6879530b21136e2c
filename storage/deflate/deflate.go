// Package deflate compresses the long texts that rows hold: prompts that were sent and the texts of files.
package deflate

import (
	"bytes"
	"compress/flate"
	"io"
	"sync"

	"loci/core"
)

// maxText bounds what a damaged row may unpack to, in bytes.
const maxText = 256 << 20

// writers keep the tables of compression, which are larger than most of what is compressed.
var writers = sync.Pool{New: func() any {
	z, _ := flate.NewWriter(nil, flate.DefaultCompression) // fails for a level that does not exist
	return z
}}

// Compress compresses a text.
func Compress(body string) ([]byte, error) {
	var b bytes.Buffer
	z, _ := writers.Get().(*flate.Writer)
	defer writers.Put(z)
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

// Decompress returns what was compressed.
func Decompress(packed []byte) (string, error) {
	u := NewDecompressor()
	defer u.Close()
	body, err := u.Decompress(packed)
	return string(body), err
}

// Decompressor decompresses one text after the other. What it keeps for that is larger than most of what it yields.
type Decompressor struct {
	in  *bytes.Reader
	z   io.ReadCloser
	out bytes.Buffer
}

// maxKept bounds the room that a decompressor keeps for the next body, in bytes.
const maxKept = 1 << 20

var pool = sync.Pool{New: func() any {
	in := bytes.NewReader(nil)
	return &Decompressor{in: in, z: flate.NewReader(in)}
}}

// NewDecompressor returns one that others do not use. It must be closed, and not be used afterwards.
func NewDecompressor() *Decompressor {
	u, _ := pool.Get().(*Decompressor)
	return u
}

// Close gives it back, for whoever asks for the next one.
func (u *Decompressor) Close() { pool.Put(u) }

// Decompress returns a text that is good until the next one.
func (u *Decompressor) Decompress(packed []byte) ([]byte, error) {
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
		_, err = u.out.ReadFrom(io.LimitReader(u.z, maxText))
	}
	if err != nil {
		return nil, core.E(core.Internal, "unpack a snapshot: %w", err)
	}
	return u.out.Bytes(), nil
}
