package redact

import (
	"encoding/json"
	"strings"
	"testing"

	"loci/core"
)

func TestWhatWaitsAndWhatWasDecidedIsForgottenToo(t *testing.T) {
	t.Parallel()
	const text = "the regatta of Ada"
	arguments := `{"content":"` + text + ` in May"}`
	record := map[string]core.Approval{"approval": {
		Waits: []core.WaitingCall{{
			CallID: "call_1", Arguments: arguments, Why: "A rule asks about " + text, Always: []string{"shell(" + text + ")"},
		}},
		Refused: []core.ToolReturn{{CallID: "call_2", Name: "probe", Text: "no " + text}},
		Decisions: []core.Decision{{
			CallID: "call_1", Reason: "because of " + text, Arguments: arguments, Keep: []string{"shell(" + text + ")"},
			Return: &core.ToolReturn{Text: "kept " + text, Stdout: []string{text}, Stderr: []string{"x " + text}},
		}},
	}}
	raw, err := json.Marshal(record)
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(raw), "regatta") {
		t.Fatal("the record does not hold the text")
	}
	if got := New([]string{text}, false).JSON(string(raw), ""); strings.Contains(got, "regatta") || !json.Valid([]byte(got)) {
		t.Errorf("left: %s", got)
	}
}
