package tui

import (
	"strings"
	"testing"
	"time"

	"loci/daemon/api"
	"loci/daemon/client"

	tea "charm.land/bubbletea/v2"
)

func TestGoingBackWaitsForTheAgentAndSaysWhatFailed(t *testing.T) {
	t.Parallel()
	f := withTurns(newFake())
	r := newRobot(t, f, 80, 24).connect()
	r.say("mute please")
	r.say("/rewind")
	if !strings.Contains(r.status(), "busy") || r.top() != nil {
		t.Errorf("status %q", r.status())
	}
	r.key(esc())
	r.idle()
	f.mu.Lock()
	f.pastErr = &client.Error{Kind: api.KindConflict, Message: "a run is active"}
	f.mu.Unlock()
	r.now = r.now.Add(time.Minute)
	r.m.prompt.Set("")
	r.say("/rewind")
	r.until("the reason", func() bool { return strings.Contains(r.status(), "a run is active") })
}

func TestASearchSaysWhatItCouldNotLookAt(t *testing.T) {
	t.Parallel()
	for partial, want := range map[api.Partial]string{
		"":                  "",
		api.PartialBehind:   "results may be missing: some texts are still being indexed",
		api.PartialBuilding: "results may be missing: the search index is still being built",
	} {
		f := newFake()
		f.partial = partial
		r := newRobot(t, f, 80, 24).connect()
		r.say("/search tea")
		r.until("results", func() bool { return strings.Contains(r.view(), "agent: It said tea") })
		if !strings.Contains(r.view(), want) || want == "" && strings.Contains(r.view(), "missing") {
			t.Errorf("%q:\n%s", partial, r.view())
		}
		if partial == api.PartialBuilding { // nothing is found
			r.say(" from:thoughts")
			r.until("no results", func() bool {
				return strings.Contains(r.view(), "nothing found yet: the search index is still being built")
			})
		}
	}
}

func TestASearchIsNarrowedByWhoAndWhen(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("/search tea from:agent after:2026-02-01 before:yesterday")
	r.until("results", func() bool { return strings.Contains(r.view(), "agent: It said tea") })
	if strings.Contains(r.view(), "I said tea") {
		t.Errorf("what the person said is shown:\n%s", r.view())
	}
	q := r.f.searches[0]
	today := r.now.Local()
	if q.Query != "tea" || *q.StartDate != *api.AtText(time.Date(2026, 2, 1, 0, 0, 0, 0, today.Location())) ||
		*q.EndDate != *api.AtText(time.Date(today.Year(), today.Month(), today.Day()-1, 0, 0, 0, 0, today.Location())) {
		t.Errorf("asked %+v", q)
	}
	for query, until := range map[string]time.Time{ // as with --until on the command line, the whole day counts
		"tea until:2026-02-01":  time.Date(2026, 2, 2, 0, 0, 0, 0, time.UTC),
		"tea before:2026-02-01": time.Date(2026, 2, 1, 0, 0, 0, 0, time.UTC),
	} {
		if w, err := parseSearch(query, r.now.UTC()); err != nil || !w.before.Equal(until) {
			t.Errorf("%s: %v, %v", query, w.before, err)
		}
	}
	now := time.Date(2026, 3, 1, 12, 30, 0, 0, time.UTC)
	for query, since := range map[string]string{
		"tea after:today": "2026-03-01", "tea since:yesterday": "2026-02-28", "tea after:7d": "2026-02-22",
		"tea on:2026-01-31": "2026-01-31",
	} {
		if w, err := parseSearch(query, now); err != nil || w.after.Format(time.DateTime) != since+" 00:00:00" {
			t.Errorf("%s: %v, %v", query, w.after, err)
		}
	}
	for query, problem := range map[string]string{
		"tea after:-7d": "-7d is not a day", "tea after:d": "d is not a day", "tea after:99999999d": "is not a day",
		"tea from:nobody": "from:nobody is not known", "tea after:soon": "soon is not a day", "from:me": "a word to look for",
	} {
		if _, err := parseSearch(query, r.now); err == nil || !strings.Contains(err.Error(), problem) {
			t.Errorf("%s: %v", query, err)
		}
	}
	if w, err := parseSearch("https://x.y/z 12:30 note:", r.now); err != nil || w.words != "https://x.y/z 12:30 note:" {
		t.Errorf("%q, %v", w.words, err)
	}
}

func TestATextGivenBackIsNotMixedWithWhatIsTyped(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("fail now")
	r.typ("half a tho")
	r.idle()
	r.typ("ught")
	r.holds("half a thought")
	r.hears("not delivered; ↑ brings it back")
	r.key(tea.Key{Code: tea.KeyUp})
	if got := r.m.prompt.Text(); got != "fail now" {
		t.Errorf("↑ brings %q", got)
	}
	r.key(tea.Key{Code: tea.KeyDown})
	if got := r.m.prompt.Text(); got != "half a thought" {
		t.Errorf("↓ brings %q", got)
	}
}

func TestWhatIsTypedAsATextIsGivenBackTakesItsPlace(t *testing.T) {
	t.Parallel()
	r := newRobot(t, newFake(), 80, 24).connect()
	r.say("fail now")
	r.idle()
	r.holds("fail now")
	r.typ("new")
	r.holds("new")
	r.m.prompt.Set("")
	r.key(tea.Key{Code: tea.KeyUp})
	if got := r.m.prompt.Text(); got != "fail now" {
		t.Errorf("↑ brings %q", got)
	}
	r.m.prompt.Set("")
	r.say("fail again")
	r.idle()
	r.now = r.now.Add(time.Second)
	r.typ("!")
	if got := r.m.prompt.Text(); got != "fail again!" {
		t.Errorf("a text that was seen is not edited: %q", got)
	}
}
