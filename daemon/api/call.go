package api

// RunCalls are the tool calls of a run and what became of them, the first one first: GET /loci/v1/runs/{run_id}/calls.
type RunCalls struct {
	Calls []RunCall `json:"calls"`
}

// RunCall is one of them. A call that waits for a person has no outcome yet.
type RunCall struct {
	StepID     string `json:"step_id"`
	ToolCallID string `json:"tool_call_id"`
	Name       string `json:"name"`
	Outcome    string `json:"outcome" enum:"success,error,waits"`
	Passed     string `json:"passed,omitempty"` // which rule, mode or person let it pass, where it needed that
	Hooked     string `json:"hooked,omitempty"` // what hooks did about it
	Why        string `json:"why,omitempty"`    // why it waits

	Layers []string `json:"layers,omitempty"` // of the sandbox, that confined what it ran
}

// CallWaits is the outcome of a call that waits; the others are the states of a return.
const CallWaits = "waits"
