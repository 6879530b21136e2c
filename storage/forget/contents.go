package forget

import (
	"bytes"
	"context"
	"encoding/binary"
	"unicode/utf16"

	"loci/core"
	"loci/core/redact"
)

// Contents are what files of open folders held before agents changed them, and what agents read of them.
type Contents interface {
	// Forget counts the contents for which holds says so, and removes them if apply is set.
	Forget(ctx context.Context, holds func(content []byte) bool, apply bool) (int, error)
}

// inContents counts the contents that hold the texts. They are removed whole: a part of a file is nothing to put back.
func (g *Forgetter) inContents(ctx context.Context, f *pass) (int, error) {
	if g.contents == nil || f.r.Empty() {
		return 0, nil
	}
	return g.contents.Forget(ctx, func(content []byte) bool { return holds(ctx, f.r, content) }, f.apply)
}

func (f *pass) countContents(n int) {
	if n > 0 {
		f.found.Places = append(f.found.Places, core.ForgetPlace{Name: "contents kept of files", Count: n})
	}
}

// holds reports whether a file's content holds one of the texts, in its bytes or as UTF-16.
func holds(ctx context.Context, r *redact.Redactor, content []byte) bool {
	if found, err := r.FindsIn(ctx, bytes.NewReader(content)); found || err != nil {
		return found
	}
	var order binary.ByteOrder = binary.LittleEndian
	switch {
	case bytes.HasPrefix(content, []byte{0xff, 0xfe}):
	case bytes.HasPrefix(content, []byte{0xfe, 0xff}):
		order = binary.BigEndian
	default:
		return false
	}
	units := make([]uint16, 0, len(content)/2)
	for ; len(content) > 1; content = content[2:] {
		units = append(units, order.Uint16(content))
	}
	return r.Finds(string(utf16.Decode(units)))
}
