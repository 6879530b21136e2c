// Package results is what the search tools share: date ranges as models write them, how long ago something was, and
// lists of results that fit.
package results

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
	"loci/core/search"
)

// The limits of a search.
const (
	DefaultLimit = 5
	MaxLimit     = 50
	maxExcerpt   = 2000 // characters of one message
)

// Limit returns how many results are wanted: the default where nothing is said, never more than the maximum.
func Limit(argument string, asked *int) (int, error) {
	switch {
	case asked == nil:
		return DefaultLimit, nil
	case *asked < 1:
		return 0, core.E(core.Invalid, "%s must be at least 1, not %d", argument, *asked)
	default:
		return min(*asked, MaxLimit), nil
	}
}

// Range reads the bounds of a search in a zone: a date or a date with a time, with or without a distance from UTC. The
// result is half open; an end that is only a date includes that day. Empty bounds are zero.
func Range(start, end string, zone *time.Location) (from, until time.Time, err error) {
	if start != "" {
		if from, _, err = parse("start", start, zone); err != nil {
			return time.Time{}, time.Time{}, err
		}
	}
	if end != "" {
		var day bool
		if until, day, err = parse("end", end, zone); err != nil {
			return time.Time{}, time.Time{}, err
		}
		if day {
			until = until.AddDate(0, 0, 1)
		}
	}
	if !from.IsZero() && !until.IsZero() && !from.Before(until) {
		return time.Time{}, time.Time{}, core.E(core.Invalid, "the start %q is not before the end %q", start, end)
	}
	return from, until, nil
}

func parse(what, text string, zone *time.Location) (at time.Time, day bool, err error) {
	text = strings.TrimSpace(text)
	if at, err = time.ParseInLocation(time.DateOnly, text, zone); err == nil {
		return at, true, nil
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02T15:04Z07:00", "2006-01-02T15:04:05", "2006-01-02T15:04", time.DateTime, "2006-01-02 15:04",
	} {
		if at, err = time.ParseInLocation(layout, text, zone); err == nil {
			return at, false, nil
		}
	}
	return time.Time{}, false, core.E(core.Invalid, "the %s %q is not a date: write it as 2006-01-02 or 2006-01-02T15:04", what, text)
}

// Ago says in one unit how long before now something was.
func Ago(at, now time.Time) string {
	d := now.Sub(at)
	for _, unit := range []struct {
		length time.Duration
		name   string
	}{
		{365 * 24 * time.Hour, "year"},
		{30 * 24 * time.Hour, "month"},
		{7 * 24 * time.Hour, "week"},
		{24 * time.Hour, "day"},
		{time.Hour, "hour"},
		{time.Minute, "minute"},
	} {
		switch n := int(d / unit.length); {
		case n == 1:
			return "1 " + unit.name + " ago"
		case n > 1:
			return fmt.Sprintf("%d %ss ago", n, unit.name)
		}
	}
	return "just now"
}

// Relevance says why something was found.
type Relevance struct {
	Score   float64  `json:"score"`
	Words   []string `json:"words,omitempty"`
	Also    []string `json:"also,omitempty"`    // words near them in meaning
	Context []string `json:"context,omitempty"` // words that what was said around it has
	Speaker bool     `json:"speaker,omitempty"` // said by whom the query names
	Date    bool     `json:"date,omitempty"`    // of the time that the query names
	Alike   bool     `json:"alike,omitempty"`   // alike in meaning
	Partial bool     `json:"partial,omitempty"` // not everything could be searched

	inherited []core.NeighbourWords
}

// Partial is what a search says that could not look at everything.
const Partial = "Not everything could be searched yet, so more may be found in a moment. Nothing that was stored is " +
	"lost: do not store it again."

// Why converts the reasons of a hit, nil for one that has none.
func Why(score float64, words []string, why core.Why, partial bool) *Relevance {
	if score == 0 && len(words) == 0 && len(why.Also) == 0 {
		return nil
	}
	r := &Relevance{
		Score:     math.Round(score*1000) / 1000,
		Words:     words,
		Also:      why.Also,
		Speaker:   why.Speaker,
		Date:      why.Date,
		Alike:     why.Vector > 0,
		Partial:   partial || why.NoModel,
		inherited: why.Inherited,
	}
	r.Among(nil)
	return r
}

// Among keeps of the context only what texts with these ids say (nil: any text): a result quotes nothing of a text that
// is not shown with it, so that what lists no forgotten text has no word of it.
func (r *Relevance) Among(ids []string) {
	if r == nil {
		return
	}
	r.Context = nil
	for _, from := range r.inherited {
		if ids != nil && !slices.Contains(ids, from.From) {
			continue
		}
		for _, w := range from.Words {
			if !slices.Contains(r.Context, w) {
				r.Context = append(r.Context, w)
			}
		}
	}
}

// Excerpt returns a text that is short enough to be one of several results.
func Excerpt(text string, words []string) string { return search.Excerpt(text, words, maxExcerpt) }

// Fit drops results from the end until their JSON has at most limit characters (0: no limit); the first stays.
func Fit[T any](items []T, limit int) ([]T, error) {
	items = slices.Clone(items)
	for limit > 0 && len(items) > 1 {
		text, err := JSON(items)
		if err != nil {
			return nil, err
		}
		if utf8.RuneCountInString(text) <= limit {
			break
		}
		items = items[:len(items)-1]
	}
	return items, nil
}

// JSON writes a value on one line, readable: without escapes that only web pages need.
func JSON(v any) (string, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		return "", core.E(core.Internal, "write results: %w", err)
	}
	return strings.TrimSuffix(b.String(), "\n"), nil
}
