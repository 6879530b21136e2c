package results

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"loci/core"
)

func TestRangesAreReadInTheZoneAndIncludeTheLastDay(t *testing.T) {
	t.Parallel()
	berlin, err := time.LoadLocation("Europe/Berlin")
	if err != nil {
		t.Fatal(err)
	}
	tests := []struct{ name, start, end, from, until string }{
		{"open", "", "", "", ""},
		{"days", "2026-11-20", "2026-11-21", "2026-11-19T23:00:00Z", "2026-11-21T23:00:00Z"},
		{"one day", "2026-11-20", "2026-11-20", "2026-11-19T23:00:00Z", "2026-11-20T23:00:00Z"},
		{"the day summer time ends", "", "2026-10-25", "", "2026-10-25T23:00:00Z"},
		{"times", "2026-11-20T10:30", "2026-11-20 12:00:30", "2026-11-20T09:30:00Z", "2026-11-20T11:00:30Z"},
		{"times with an offset", "2026-11-20T10:30:00-05:00", "2026-11-20T20:00Z", "2026-11-20T15:30:00Z", "2026-11-20T20:00:00Z"},
		{"fractions", " 2026-11-20T10:30:00.5Z ", "", "2026-11-20T10:30:00Z", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			from, until, err := Range(tt.start, tt.end, berlin)
			if err != nil {
				t.Fatal(err)
			}
			for _, side := range []struct {
				got  time.Time
				want string
			}{{from, tt.from}, {until, tt.until}} {
				if side.want == "" && !side.got.IsZero() ||
					side.want != "" && side.got.UTC().Truncate(time.Second).Format(time.RFC3339) != side.want {
					t.Errorf("%v, want %s", side.got.UTC(), side.want)
				}
			}
		})
	}
}

func TestRangesThatMakeNoSenseAreRefused(t *testing.T) {
	t.Parallel()
	for _, tt := range [][2]string{
		{"yesterday", ""}, {"", "2026-13-01"}, {"2026-11-21", "2026-11-20"}, {"2026-11-20T10:00", "2026-11-20T10:00"},
	} {
		if _, _, err := Range(tt[0], tt[1], time.UTC); core.KindOf(err) != core.Invalid {
			t.Errorf("%v: %v", tt, err)
		}
	}
}

func TestAgoIsInOneUnit(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 23, 9, 0, 0, 0, time.UTC)
	const day = 24 * time.Hour
	for d, want := range map[time.Duration]string{
		-time.Hour: "just now", 0: "just now", 59 * time.Second: "just now", time.Minute: "1 minute ago",
		59 * time.Minute: "59 minutes ago", 25 * time.Hour: "1 day ago",
		6 * day: "6 days ago", 15 * day: "2 weeks ago", 61 * day: "2 months ago", 800 * day: "2 years ago",
	} {
		if got := Ago(now.Add(-d), now); got != want {
			t.Errorf("%v: %q, want %q", d, got, want)
		}
	}
}

func TestLimits(t *testing.T) {
	t.Parallel()
	for asked, want := range map[int]int{1: 1, 50: 50, 51: 50, 1 << 40: 50} {
		if got, err := Limit("limit", &asked); err != nil || got != want {
			t.Errorf("Limit(%d) = %d, %v", asked, got, err)
		}
	}
	if got, err := Limit("limit", nil); err != nil || got != DefaultLimit {
		t.Errorf("Limit(nil) = %d, %v", got, err)
	}
	for _, asked := range []int{0, -1} {
		if _, err := Limit("limit", &asked); core.KindOf(err) != core.Invalid {
			t.Errorf("Limit(%d): %v", asked, err)
		}
	}
}

func TestExcerptsShowTheWordThatWasFound(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("äb ", 5000) + "Nadel " + strings.Repeat("cd ", 5000)
	got := Excerpt(text, []string{"nadel"})
	if !strings.Contains(got, "Nadel") || utf8.RuneCountInString(got) != maxExcerpt+2 || !strings.HasPrefix(got, "…") ||
		!strings.HasSuffix(got, "…") {
		t.Errorf("%d characters: %.40s", utf8.RuneCountInString(got), got)
	}
	if got := Excerpt(text, nil); !strings.HasPrefix(got, "äb") {
		t.Errorf("without a word the beginning is shown, not %.40s", got)
	}
	if got := Excerpt("short", []string{"x"}); got != "short" {
		t.Errorf("%q", got)
	}
}

func TestResultsThatDoNotFitLeaveWhole(t *testing.T) {
	t.Parallel()
	items := []string{strings.Repeat("a", 100), strings.Repeat("b", 100), strings.Repeat("c", 100)}
	for limit, want := range map[int]int{0: 3, 10: 1, 207: 2, 206: 1, 1000: 3} {
		got, err := Fit(items, limit)
		if err != nil || len(got) != want {
			t.Errorf("Fit(%d) kept %d, %v, want %d", limit, len(got), err, want)
		}
	}
	if len(items) != 3 || items[2] == "" {
		t.Error("Fit changed what it was given")
	}
}

func TestAResultQuotesOnlyTextsThatAreShownWithIt(t *testing.T) {
	t.Parallel()
	why := core.Why{Inherited: []core.NeighbourWords{
		{From: "a", Words: []string{"oboe", "day"}}, {From: "b", Words: []string{"day", "rain"}},
	}}
	for _, tt := range []struct {
		ids  []string
		want string
	}{{nil, "oboe day rain"}, {[]string{"b", "c"}, "day rain"}, {[]string{}, ""}} {
		r := Why(1, nil, why, false)
		if r.Among(tt.ids); strings.Join(r.Context, " ") != tt.want {
			t.Errorf("among %v: %v, want %s", tt.ids, r.Context, tt.want)
		}
	}
}
