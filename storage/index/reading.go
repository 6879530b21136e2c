package index

import (
	"encoding/binary"
	"runtime"
	"slices"
	"sync"
	"time"

	"loci/core/search"
)

// reading is a document with what was parsed from it.
type reading struct {
	*Doc
	minute int64
	parts  []string // of the speaker's name
	tags   []string // no duplicates
	words  []string
	stored []byte
}

// fileTag is an internal tag that marks the parts of a file. No user can set it.
func fileTag(file string) string { return "\x1f" + file }

// fileTags returns the tags of several files.
func fileTags(files []string) []string {
	tags := make([]string, len(files))
	for i, f := range files {
		tags[i] = fileTag(f)
	}
	return tags
}

// readDocs parses documents, in parallel if there are cores for it.
func readDocs(kind search.Kind, docs []Doc) []reading {
	const worth = 64 // documents that make another goroutine worthwhile
	out := make([]reading, len(docs))
	workers := max(1, min(len(docs)/worth, runtime.GOMAXPROCS(0)/2))
	size := (len(docs) + workers - 1) / workers
	var wg sync.WaitGroup
	for w := range workers {
		from, to := min(w*size, len(docs)), min((w+1)*size, len(docs))
		wg.Go(func() {
			for i := from; i < to; i++ {
				out[i] = readDoc(kind, &docs[i])
			}
		})
	}
	wg.Wait()
	return out
}

func readDoc(kind search.Kind, d *Doc) reading {
	r := search.Read(
		search.Source{Text: d.Text, Speaker: d.Name, At: time.UnixMicro(d.At).UTC(), Turn: kind == search.Message, Part: d.File != ""},
	)
	s := docRecord{
		role:  d.Role,
		who:   search.Voice(r.Speaker, d.Role),
		flags: int64(r.Flags),
		count: len(r.Words),
		spans: search.StoreSpans(r.Spans),
		words: r.Store(),
	}
	tags := slices.Clone(d.Tags)
	if d.File != "" {
		tags = append(tags, fileTag(d.File))
	}
	slices.Sort(tags)
	return reading{
		Doc: d, minute: r.Minute, parts: search.SpeakerParts(s.who, r.Flags), tags: slices.Compact(tags), words: r.Words, stored: s.pack(),
	}
}

// docRecord is what ranking needs of a document and no query selects by. It is one column because a search reads thousands.
type docRecord struct {
	role, who string
	flags     int64
	count     int // number of words
	spans     string
	words     string
}

func (s *docRecord) pack() []byte {
	out := make([]byte, 0, len(s.words)+len(s.who)+len(s.role)+len(s.spans)+16)
	out = binary.AppendUvarint(out, uint64(s.flags))
	out = binary.AppendUvarint(out, uint64(s.count))
	for _, text := range []string{s.role, s.who, s.spans} {
		out = binary.AppendUvarint(out, uint64(len(text)))
		out = append(out, text...)
	}
	return append(out, s.words...)
}

// unpack reads what pack wrote. The strings it returns are slices of packed.
func unpack(packed string) (s docRecord, err error) {
	number := func() (v uint64) {
		for shift := 0; shift < 64 && packed != ""; shift += 7 {
			b := packed[0]
			packed = packed[1:]
			v |= uint64(b&0x7f) << shift
			if b < 0x80 {
				return v
			}
		}
		err = errDamaged
		return 0
	}
	text := func() (t string) {
		n := number()
		if n > uint64(len(packed)) {
			err = errDamaged
			return ""
		}
		t, packed = packed[:n], packed[n:]
		return t
	}
	s.flags, s.count = int64(number()), int(number())
	s.role, s.who, s.spans = text(), text(), text()
	s.words = packed
	return s, err
}
