package core

// HookEvent is a moment at which programs of the person's own are run, by the name that Claude Code gives it.
type HookEvent string

// The events.
const (
	HookSession  HookEvent = "SessionStart"      // before the first message of a client session in a conversation
	HookPrompt   HookEvent = "UserPromptSubmit"  // before a message is sent to a model
	HookBefore   HookEvent = "PreToolUse"        // before a call runs
	HookAfter    HookEvent = "PostToolUse"       // when it returned
	HookApproval HookEvent = "PermissionRequest" // before a person is asked about a call
	HookStop     HookEvent = "Stop"              // before a turn ends
	HookCompact  HookEvent = "PreCompact"        // before a summary takes the place of messages
)

// HookCall is what programs of the person's own are told at an event.
type HookCall struct {
	Event        HookEvent
	Agent        AgentID
	Conversation ConversationID
	Run          RunID
	Workspace    string // empty: no folder is open
	Mode         PermissionMode

	CallID    string // of a call of a tool
	Tool      string
	Arguments string  // a JSON object
	Return    *string // what the tool returned; nil: it has not run yet
	Failed    bool    // it returned an error
	Why       string  // why a person is asked

	Prompt  string // the message
	Source  string // of a session: HookStartup or HookResume
	Trigger string // of a summary: HookManual or HookAuto
	Again   bool   // the turn goes on already because of what a program said when it was about to end
	Said    string // what the agent said last
}

// How a session begins, and what a summary is made for.
const (
	HookStartup = "startup" // in a conversation that is empty
	HookResume  = "resume"  // in one that goes on
	HookManual  = "manual"  // a person asked for it
	HookAuto    = "auto"    // there is little room left
)

// HookVerdict is what those programs say. The zero value says nothing. None of them can allow what asks.
type HookVerdict struct {
	Deny      string   // why the call does not run, the message is not sent, or the turn does not end
	Ask       string   // why a person is asked before the call runs, in a sentence
	Arguments string   // a JSON object that the call runs with instead; empty: unchanged
	Text      string   // what the agent reads: behind the return, or with the message
	Halt      string   // why the turn ends here, whatever else they say
	Notices   []string // what the person is told
	Faults    []string // which of them failed, and how
	Did       []string // which of them changed, asked about or denied a call: "the hook ~/bin/look denied it"
}
