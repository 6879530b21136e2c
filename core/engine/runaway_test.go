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
