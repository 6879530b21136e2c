package providers

import "testing"

func TestAnEffortBecomesTheNearestThatTheModelHas(t *testing.T) {
	t.Parallel()
	for wanted, want := range map[string]string{
		"none": "low", "minimal": "low", "low": "low", "medium": "low", "high": "high", "max": "high", "": "", "odd": "odd",
	} {
		if got := nearestEffort([]string{"low", "high"}, wanted); got != want {
			t.Errorf("%q becomes %q, want %q", wanted, got, want)
		}
	}
	if got := nearestEffort(nil, "xhigh"); got != "xhigh" {
		t.Errorf("of an unknown model it is %q", got)
	}
}
