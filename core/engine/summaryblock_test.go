package engine

import (
	"fmt"
	"testing"
	"time"

	"loci/core"
)

func TestEveryConversationPausesOnItsOwn(t *testing.T) {
	t.Parallel()
	p, now := newPauses(), time.Now()
	for i := range maxPauses {
		p.pause(core.ConversationID(fmt.Sprint(i)), core.RunID(fmt.Sprint("run ", i)), now.Add(time.Minute))
	}
	for i := range maxPauses {
		if conv := core.ConversationID(fmt.Sprint(i)); !p.paused(conv, now) || p.tried(conv) != core.RunID(fmt.Sprint("run ", i)) {
			t.Fatalf("%d is forgotten", i)
		}
	}
	p.pause("one more", "run", now.Add(time.Minute))
	if len(p.of) > maxPauses || !p.paused("one more", now) {
		t.Errorf("%d pauses are kept", len(p.of))
	}
	if p.paused("one more", now.Add(time.Minute)) {
		t.Error("a pause does not end")
	}
}
