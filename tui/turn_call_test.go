package tui

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/daemon/api"
	"loci/tui/transcript"
)

func TestACallThatBecomesAQuestionIsToldAgainAndShownOnce(t *testing.T) {
	t.Parallel()
	var shown turn
	shown.call(api.ToolCall{ToolCallID: "c1", Name: "shell", Arguments: `{"command":`}, true)
	shown.call(api.ToolCall{ToolCallID: "c1", Arguments: `"rm x"}`}, true)
	whole := []transcript.Call{{ID: "c1", Name: "shell", Arguments: `{"command":"rm x"}`}}
	if diff := cmp.Diff(whole, shown.calls); diff != "" {
		t.Errorf("pieces (-want +got):\n%s", diff)
	}
	shown.call(api.ToolCall{ToolCallID: "c1", Name: "shell", Arguments: `{"command":"rm x"}`}, true)
	if diff := cmp.Diff(whole, shown.calls); diff != "" {
		t.Errorf("told again (-want +got):\n%s", diff)
	}
}
