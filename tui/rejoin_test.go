package tui

import (
	"strings"
	"testing"

	"loci/daemon/api"
)

// TestAChatOpenedWhileACallRunsFollowsItsRun opens one whose history has the call already.
func TestAChatOpenedWhileACallRunsFollowsItsRun(t *testing.T) {
	t.Parallel()
	f := newFake()
	call := api.Message{
		ID: "message-2", MessageType: api.MessageToolCall,
		ToolCalls: []api.ToolCall{{ToolCallID: "c", Name: "roll_dice", Arguments: "{}"}},
	}
	stored := []api.Message{{ID: "message-1", MessageType: api.MessageUser, Content: api.Text("roll them")}, call}
	for i := range stored {
		stored[i].RunID = "run-9"
	}
	f.session.PendingRun = "run-9"
	old := api.Message{ID: "message-0", MessageType: api.MessageAssistant, RunID: "run-8", Content: api.Text("of old")}
	f.history = append(append(f.history, old), stored...)
	f.others["run-9"] = append(
		[]api.Message{{MessageType: api.MessageUserInput, ID: "message-1", Content: api.Text("roll them")}, call},
		append(say("and answered"), done(1)...)...)
	r := newRobot(t, f, 80, 24)
	r.until("the answer", func() bool { return strings.Contains(r.said(), "and answered") })
	r.idle()
	for _, once := range []string{"of old", "roll them", "roll_dice", "and answered"} {
		if n := strings.Count(r.said(), once); n != 1 {
			t.Errorf("%q is said %d times:\n%s", once, n, r.said())
		}
	}
}
