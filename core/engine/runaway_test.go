package engine

import (
	"fmt"
	"testing"

	"loci/core"
)

func TestACircleOfAnyPeriodIsSeenAtItsFirstPieceTooMany(t *testing.T) {
	t.Parallel()
	for period := 1; period <= longestPeriod; period++ {
		g := newGuard("openai/gpt-test", defaultAnswer)
		pieces := 0
		for g.check(core.Delta{Call: &core.CallDelta{Arguments: fmt.Sprint("piece ", pieces%period)}}) == nil {
			if pieces++; pieces > 2*mostRepeats {
				break
			}
		}
		if want := period + mostRepeats; pieces != want {
			t.Errorf("period %d: %d pieces, want %d", period, pieces, want)
		}
	}
}

func TestEveryCallMayRepeatItselfAnew(t *testing.T) {
	t.Parallel()
	g := newGuard("openai/gpt-test", defaultAnswer)
	for call := range 3 {
		for range mostRepeats {
			if err := g.check(core.Delta{Call: &core.CallDelta{Index: call, Arguments: "- "}}); err != nil {
				t.Fatalf("call %d: %v", call, err)
			}
		}
	}
}

func TestACallThatIsNeverFinishedIsStopped(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		open int // calls that take turns
		want int
	}{
		"one call":            {1, mostPieces},
		"two that take turns": {2, mostPieces + 1},
		"ten that take turns": {10, mostPieces + 9},
	} {
		g := newGuard("openai/gpt-test", defaultAnswer)
		pieces := 0
		for g.check(core.Delta{Call: &core.CallDelta{Index: pieces % c.open, Arguments: fmt.Sprint(pieces)}}) == nil {
			if pieces++; pieces > 2*mostPieces {
				break
			}
		}
		if pieces != c.want {
			t.Errorf("%s: %d pieces, want %d", name, pieces, c.want)
		}
	}
}

func TestManyLongCallsAreNoRunaway(t *testing.T) {
	t.Parallel()
	g := newGuard("openai/gpt-test", defaultAnswer)
	for call := range 5 {
		for i := range mostPieces {
			if err := g.check(core.Delta{Call: &core.CallDelta{Index: call, Arguments: fmt.Sprint(i)}}); err != nil {
				t.Fatalf("call %d, piece %d: %v", call, i, err)
			}
		}
	}
}
