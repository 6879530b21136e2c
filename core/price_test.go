package core

import "testing"

func TestAmountsAreReadAndWrittenAsPeopleDo(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"2.50": "$2.50", "$1000": "$1000.00", "0.01": "$0.01", "0.0023": "$0.0023", "0.00004567": "$0.000045", "0": "$0.00", ".5": "$0.50",
		"0.999": "$1.00",
	} {
		if m, err := ParseMoney(text); err != nil || m.String() != want {
			t.Errorf("%s: %s, %v", text, m, err)
		}
	}
	for _, text := range []string{"", "-1", "1e3", "1/3", "two", "1.2.3", "99999999999", "0.0000000000001", "$"} {
		if m, err := ParseMoney(text); err == nil {
			t.Errorf("%q is %s", text, m)
		}
	}
}

func TestWhatACallCostsFollowsFromWhatItUsed(t *testing.T) {
	t.Parallel()
	p := Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000, CacheWrite: 3_750_000}
	n := func(n int) *int { return &n }
	for name, c := range map[string]struct {
		u    Usage
		want float64
	}{
		"plain":            {Usage{Prompt: 1_000_000, Completion: 100_000}, 4.5},
		"read from cache":  {Usage{Prompt: 1_000_000, Cached: n(900_000)}, 0.57},
		"written to it":    {Usage{Prompt: 1_000_000, CacheWrite: n(1_000_000)}, 3.75},
		"kept for an hour": {Usage{Prompt: 1_000_000, CacheWrite: n(1_000_000), CacheWriteHour: n(1_000_000)}, 6},
		"odd counts":       {Usage{Prompt: 10, Cached: n(50), Completion: -5}, 0.000015},
	} {
		if got := p.Of(c.u).Dollars(); got != c.want {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
	if got := p.Asking(1_000_000).Dollars(); got != 3.75 {
		t.Errorf("a request costs at most %v", got)
	}
	if huge := p.Of(Usage{Prompt: 1 << 30, Completion: 1 << 30}).Plus(mostMoney); huge != mostMoney {
		t.Errorf("sums go to %s", huge)
	}
}
