package redact

import (
	"strings"
	"unicode/utf8"
)

// quotes finds parts of long texts elsewhere: excerpts that a search returned or recall recorded, and texts cut at a
// limit. A part counts from quoteBytes on, so that common phrases stay.
//
// The hash of every stride-th window of the texts is known; any part that is long enough contains one of them whole.
type quotes struct {
	text  string // all texts, joined
	at    map[uint64][]int32
	maybe [1 << 10]uint64 // a bit for each hash that may be known

	leaving uint64 // what a byte contributes to the hash when it leaves the window
}

const (
	quoteBytes  = 64
	windowBytes = quoteBytes / 2
	stride      = quoteBytes / 2
	maxAlike    = 8 // places kept per window: a text repeated many times is known well enough
)

// newQuotes returns a finder for parts of the texts; nil if all are too short.
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

// A window's hash is a polynomial of its bytes, so it can be rolled on by one byte.
const hashBase = 0x9e3779b97f4a7c15

func hashOf(s string) uint64 {
	h := uint64(0)
	for i := range len(s) {
		h = h*hashBase + uint64(s[i]) + 1
	}
	return h
}

// moved returns the hash of the window one byte later.
func (q *quotes) moved(h uint64, out, in byte) uint64 {
	return h*hashBase + uint64(in) + 1 - q.leaving*(uint64(out)+1)
}

// part returns the longest part of the texts around the window of s with this hash, which begins at i; it never starts
// before from. ok is false if the part is too short.
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

// whole moves a part's ends to character boundaries and never splits an escape, so that JSON stays valid.
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
