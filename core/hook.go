package core

// HookCall is a call of a tool, as programs of the person's own are told of it.
type HookCall struct {
	Agent        AgentID
	Conversation ConversationID
	Run          RunID
	Workspace    string // empty: no folder is open
	Mode         PermissionMode
	Tool         string
	Arguments    string  // a JSON object
	Return       *string // what the tool returned; nil: it has not run yet
	Failed       bool    // it returned an error
}

// HookVerdict is what those programs say of a call. The zero value says nothing. None of them can allow what asks.
type HookVerdict struct {
	Deny      string // why it does not run
	Ask       string // why a person is asked before it runs, in a sentence
	Arguments string // a JSON object that it runs with instead; empty: unchanged
	Text      string // what the agent reads behind the return
	Faults    []string
}
