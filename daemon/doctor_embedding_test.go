package daemon

import (
	"testing"
	"time"
)

func TestAModelWhoseTimeHasComeIsBeingAsked(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 21, 14, 30, 0, 0, time.Local)
	for next, want := range map[time.Time]string{
		now.Add(-time.Minute): "it is being asked now",
		now:                   "it is being asked now",
		now.Add(time.Minute):  "it is asked again at 14:31:00",
	} {
		if got := askedAgain(next, now); got != want {
			t.Errorf("asked at %s: %q", next, got)
		}
	}
}
