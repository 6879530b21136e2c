package storage

import (
	"strings"
	"unicode/utf8"
)

// quotes finds parts of long texts that stand elsewhere: excerpts that a search returned or recall recorded, and what was
// cut off behind a limit. A part counts from quoteBytes on, so that common turns of phrase stay.
//
// Every stride-th window of the texts is known by a hash; a part that is long enough holds one of them whole.
type quotes struct {
	text  string // all texts
	at    map[uint64][]int32
	maybe [1 << 10]uint64 // a bit for each hash that may be known

	leaving uint64 // what a byte counts for when it leaves the window
}

const (
	quoteBytes  = 64
	windowBytes = quoteBytes / 2
	stride      = quoteBytes / 2
	maxAlike    = 8 // places of one window: what is said over and over is known well enough
)

// newQuotes returns what finds parts of the texts; nil: all are too short.
func newQuotes(texts []string) *quotes {
	q := &quotes{at: map[uint64][]int32{}, leaving: 1}
	for range windowBytes {
		q.leaving *= hashBase
	}
	var all strings.Builder
	for _, t := range texts {
		if len(t) >= quoteBytes && all.Len()+len(t) <= maxPieces {
			all.WriteString(t + "\x00")
		}
	}
	if all.Len() == 0 {
		return nil
	}
	q.text = all.String()
	for i := 0; i+windowBytes <= len(q.text); i += stride {
		h := hashOf(q.text[i : i+windowBytes])
		if len(q.at[h]) < maxAlike {
			q.at[h] = append(q.at[h], int32(i))
		}
		q.maybe[h>>54] |= 1 << (h >> 48 & 63)
	}
	return q
}

// The hash of a window is a polynomial of its bytes, so that it can move on by one.
const hashBase = 0x9e3779b97f4a7c15

func hashOf(s string) uint64 {
	h := uint64(0)
	for i := range len(s) {
		h = h*hashBase + uint64(s[i]) + 1
	}
	return h
}

// moved is the hash of the window that begins one byte later.
func (q *quotes) moved(h uint64, out, in byte) uint64 {
	return h*hashBase + uint64(in) + 1 - q.leaving*(uint64(out)+1)
}

// part returns the longest part of the texts around a window of s that has this hash, which begins at i; none reaches
// before from. ok is false where it is too short.
func (q *quotes) part(s string, h uint64, i, from int) (start, end int, ok bool) {
	if q.maybe[h>>54]&(1<<(h>>48&63)) == 0 {
		return 0, 0, false
	}
	for _, p := range q.at[h] {
		at := int(p)
		if q.text[at:at+windowBytes] != s[i:i+windowBytes] {
			continue
		}
		left, right := 0, windowBytes
		for i-left > from && at-left > 0 && s[i-left-1] == q.text[at-left-1] {
			left++
		}
		for i+right < len(s) && at+right < len(q.text) && s[i+right] == q.text[at+right] {
			right++
		}
		if right+left > end-start {
			start, end = i-left, i+right
		}
	}
	if end-start < quoteBytes {
		return 0, 0, false
	}
	start, end = whole(s, start, end)
	return start, end, end-start >= windowBytes
}

// whole moves the ends of a part to where characters begin, and leaves no half of an escape: what is in JSON stays it.
func whole(s string, start, end int) (from, to int) {
	for start < end && !utf8.RuneStart(s[start]) {
		start++
	}
	for end > start && end < len(s) && !utf8.RuneStart(s[end]) {
		end--
	}
	for end > start && s[end-1] == '\\' {
		end--
	}
	return start, end
}
