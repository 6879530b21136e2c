package compact

import (
	"slices"
	"strings"
	"testing"
	"time"

	"loci/core"
)

func TestSettingsThatMakeNoSenseKeepTheirDefaults(t *testing.T) {
	t.Parallel()
	for name, extra := range map[string]map[string]any{
		"none": nil, "odd": {ExtraKey: "text"}, "wrong types": {ExtraKey: map[string]any{"clip_chars": "many", "mode": 3}},
		"out of range": {ExtraKey: map[string]any{"sliding_window_percentage": 7.0, "clip_chars": -1, "mode": "bogus"}},
	} {
		s := Read(extra)
		if s.Mode != SlidingWindow || s.ClipChars != core.Some(DefaultClip) || s.Percentage != DefaultPercentage {
			t.Errorf("%s: %+v", name, s)
		}
	}
	s := Read(map[string]any{ExtraKey: map[string]any{"mode": "all", "model": "openai/small", "clip_chars": 100.0, "prompt": "Short."}})
	if s.Mode != All || s.Model != "openai/small" || s.ClipChars != core.Some(100) || s.Instruction() != "Short." {
		t.Errorf("got %+v", s)
	}
}

func TestNoClippingIsNotTheDefaultOfIt(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		set  map[string]any
		want int
	}{
		"absent": {map[string]any{}, DefaultClip}, "null": {map[string]any{"clip_chars": nil}, 90_000},
		"set": {map[string]any{"clip_chars": 7}, 7},
	} {
		if err := Check(c.set); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := Read(map[string]any{ExtraKey: Lay(map[string]any{"mode": "all"}, c.set)}).Most(90_000); got != c.want {
			t.Errorf("%s: %d, want %d", name, got, c.want)
		}
	}
}

func TestTheOldestLeaveUntilTheRestFits(t *testing.T) {
	t.Parallel()
	sizes := slices.Repeat([]Size{{10, 2}}, 10)
	for name, c := range map[string]struct {
		s          Settings
		goal, keep int
		want       int
	}{
		"the share":          {Settings{Mode: SlidingWindow, Percentage: 0.3}, 100, 1, 3},
		"more than it":       {Settings{Mode: SlidingWindow, Percentage: 0.3}, 35, 1, 7},
		"never the kept":     {Settings{Mode: SlidingWindow, Percentage: 0.3}, 0, 2, 8},
		"everything":         {Settings{Mode: All}, 100, 0, 10},
		"all but the kept":   {Settings{Mode: SelfAll}, 100, 1, 9},
		"nothing to keep of": {Settings{Mode: All}, 100, 20, 0},
		"all but the min":    {Settings{Mode: StaticBuffer, BufferMin: 6}, 100, 1, 7},
		"not fewer than min": {Settings{Mode: StaticBuffer, BufferMin: 5}, 100, 1, 7},
		"min that is all":    {Settings{Mode: StaticBuffer, BufferMin: 30}, 100, 1, 0},
		"min that is large":  {Settings{Mode: StaticBuffer, BufferMin: 30}, 40, 1, 6},
		"share of messages":  {Settings{Mode: PartialEvict, Partial: 0.5}, 100, 1, 5},
		"more than the half": {Settings{Mode: PartialEvict, Partial: 0.5}, 20, 1, 8},
	} {
		if got := c.s.Leaving(sizes, c.goal, c.keep); got != c.want {
			t.Errorf("%s: %d leave, want %d", name, got, c.want)
		}
	}
}

func TestATranscriptFitsItsBudgetAndKeepsTheNewest(t *testing.T) {
	t.Parallel()
	var msgs []core.Message
	for range 50 {
		msgs = append(
			msgs,
			core.Message{Role: core.RoleUser, Content: []core.Content{core.Text(strings.Repeat("word ", 50))}, CreatedAt: time.Unix(0, 0)},
		)
	}
	msgs = append(msgs, core.Message{Role: core.RoleTool, Returns: []core.ToolReturn{{Name: "search", Text: strings.Repeat("x", 90_000)}}})
	msgs = append(
		msgs,
		core.Message{Role: core.RoleUser, Hidden: core.HiddenBlocks, Content: []core.Content{core.Text("secret announcement")}},
	)
	msgs = append(msgs, core.Message{Role: core.RoleAssistant, Content: []core.Content{core.Text("the newest")}})
	text := Settings{}.Transcript("earlier summary", msgs, 2000)
	if n := core.EstimateTokens(text); n > 2100 {
		t.Errorf("%d tokens", n)
	}
	for _, want := range []string{"earlier summary", "the newest", "left out here", "search returned"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing", want)
		}
	}
	if strings.Contains(text, "secret announcement") {
		t.Error("a hidden record is in the transcript")
	}
}

func TestATranscriptHoldsWhatFitsOfALongNewestMessage(t *testing.T) {
	t.Parallel()
	msgs := []core.Message{
		{Role: core.RoleUser, Content: []core.Content{core.Text(strings.Repeat("a question ", 20))}},
		{Role: core.RoleAssistant, Content: []core.Content{core.Text("山に登る。" + strings.Repeat("とても長い話。", 1000))}},
	}
	for _, earlier := range []string{"", strings.Repeat("what was before ", 500)} {
		text := Settings{}.Transcript(earlier, msgs, 1500)
		if n := core.EstimateTokens(text); n > 1600 || n < 1300 {
			t.Errorf("%d tokens of 1500", n)
		}
		for _, want := range []string{"You: 山に登る", "[1 earlier messages are left out here]"} {
			if !strings.Contains(text, want) {
				t.Errorf("%q is missing in %.200q", want, text)
			}
		}
	}
}

func TestARecordGivesItsSummaryBack(t *testing.T) {
	t.Parallel()
	for _, summary := range []string{"short", "two\nlines </summary> and more", ""} {
		got, gone := Summary(Record(summary, 12))
		if got != summary || gone != 12 {
			t.Errorf("got %q, %d", got, gone)
		}
	}
	if got := Bound(strings.Repeat("é", 100), 10); !strings.HasPrefix(got, strings.Repeat("é", 10)+"\n[") {
		t.Errorf("bounded to %q", got)
	}
}

func TestASummaryIsTooShortOnlyForMuch(t *testing.T) {
	t.Parallel()
	words := func(tokens int) string { return strings.Repeat("abcd", tokens) }
	for name, c := range map[string]struct {
		tokens, replaced int
		want             bool
	}{
		"a word for a long talk":     {2, 12_000, true},
		"a sentence for a long talk": {40, 12_000, true},
		"a paragraph":                {60, 100_000, false},
		"one in two hundred":         {30, 6000, false},
		"a word for a short talk":    {2, 3999, false},
	} {
		if got := Read(nil).TooShort(words(c.tokens), c.replaced); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
	if Read(map[string]any{ExtraKey: map[string]any{"clip_chars": 8}}).TooShort(words(2), 12_000) {
		t.Error("a summary as long as the settings let it be is refused")
	}
}
