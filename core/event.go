package core

import (
	"encoding/json"
	"time"
)

// AttemptSpan is the distance between the first sequence numbers of two attempts of a run.
const AttemptSpan = int64(1) << 24

// Event is one observable thing in a run. Seq rises, possibly with gaps; it is the stream's seq_id.
type Event struct {
	Run     RunID
	Seq     int64
	At      time.Time
	Step    StepID
	Message MessageID
	OTID    string
	Part    int // index of the part of the message
	Body    EventBody
}

// EventBody is what happened. It is sealed: the types below are all there are.
//
//sumtype:decl
type EventBody interface{ eventKind() string }

// The bodies of events. Said, Reasoning and ToolCallDelta are pieces; the others are complete.
type (
	// Said is a piece of what the agent says.
	Said struct {
		Text string `json:"text"`
	}
	// Reasoning is a piece of the model's reasoning.
	Reasoning struct {
		Text      string `json:"text"`
		Signature string `json:"signature,omitempty"`
		Prompted  bool   `json:"prompted,omitempty"`
	}
	// ToolCallDelta is a piece of a call: the first of an Index has ID and Name, later ones only Arguments. Asks says that the
	// call is part of a request for approval.
	ToolCallDelta struct {
		Index     int    `json:"index"`
		ID        string `json:"id,omitempty"`
		Name      string `json:"name,omitempty"`
		Arguments string `json:"arguments,omitempty"`
		Asks      bool   `json:"asks,omitempty"`
	}
	// ToolReturned holds all returns of one response.
	ToolReturned struct {
		Returns []ToolReturn `json:"returns"`
	}
	// Generated are the tokens of a complete answer, if the run asked for them.
	Generated struct {
		Text   string `json:"text,omitempty"` // what it says
		Tokens Tokens `json:"tokens"`
	}
	// UserInput opens a run's log: one for each message of its input.
	UserInput struct {
		Role Role   `json:"role"`
		Text string `json:"text"`
		Name string `json:"name,omitempty"`
		// Content is the text and the images in order, if there are images.
		Content []Content `json:"content,omitempty"`
	}
	// Summary is a message that replaced older ones; At is when it was made.
	Summary struct {
		Text  string           `json:"text"`
		At    time.Time        `json:"at,omitzero"`
		Stats *CompactionStats `json:"stats,omitempty"`
	}
	// Compacting says that a summary is about to be made.
	Compacting struct {
		Trigger string `json:"trigger"`
		Tokens  int    `json:"tokens"`
		Window  int    `json:"window"`
	}
	// Notice is something a person should know: the chosen model, a discarded attempt, an eviction.
	Notice struct {
		Kind string         `json:"kind"` // model, discard, evicted, retry, waiting, filtered, cut, hook
		Text string         `json:"text"`
		Data map[string]any `json:"data,omitempty"`
	}
	// Saved says that a step's messages are now stored: a step-wise stream may show everything up to here. Dropped holds the
	// ids of calls that were shown in part but weren't stored.
	Saved struct {
		Messages []MessageID `json:"messages"`
		Dropped  []string    `json:"dropped,omitempty"`
	}
	// UsageReport is the sum of a run, just before its end.
	UsageReport struct {
		Usage   Usage `json:"usage"`
		Steps   int   `json:"steps"`
		Context int   `json:"context,omitempty"` // estimated tokens of the window now
	}
	// Failure says why the run failed.
	Failure struct {
		Error RunError `json:"error"`
	}
	// Stop is the one terminal event of a run.
	Stop struct {
		Reason StopReason `json:"reason"`
		Status RunStatus  `json:"status"`
	}
)

// NoticeDenied tells of what would have been asked of a person, where none is there; what would have allowed it is in its data.
const NoticeDenied = "denied"

// Kinds of notices that tell of a wait.
const (
	NoticeRetry   = "retry"   // for a provider that is asked again
	NoticeWaiting = "waiting" // for an answer, or for a client with a key
)

// Waits reports whether the notice tells what its run waits for.
func (n Notice) Waits() bool { return n.Kind == NoticeRetry || n.Kind == NoticeWaiting }

func (Said) eventKind() string          { return "text" }
func (Reasoning) eventKind() string     { return "reasoning" }
func (ToolCallDelta) eventKind() string { return "tool_call" }
func (ToolReturned) eventKind() string  { return "tool_return" }
func (Generated) eventKind() string     { return "tokens" }
func (UserInput) eventKind() string     { return "user_input" }
func (Summary) eventKind() string       { return "summary" }
func (Compacting) eventKind() string    { return "compacting" }
func (Notice) eventKind() string        { return "notice" }
func (Saved) eventKind() string         { return "saved" }
func (UsageReport) eventKind() string   { return "usage" }
func (Failure) eventKind() string       { return "failure" }
func (Stop) eventKind() string          { return "stop" }

type eventJSON struct {
	Kind    string          `json:"k"`
	Step    StepID          `json:"s,omitempty"`
	Message MessageID       `json:"m,omitempty"`
	OTID    string          `json:"o,omitempty"`
	Part    int             `json:"p,omitempty"`
	Body    json.RawMessage `json:"b"`
}

// EncodeEvent returns the stored form of an event; run, seq and time are the log's own columns.
func EncodeEvent(e Event) ([]byte, error) {
	body, err := json.Marshal(e.Body)
	if err != nil {
		return nil, E(Internal, "encode event: %w", err)
	}
	return json.Marshal(eventJSON{Kind: e.Body.eventKind(), Step: e.Step, Message: e.Message, OTID: e.OTID, Part: e.Part, Body: body})
}

// DecodeEvent reads the stored form.
func DecodeEvent(data []byte) (Event, error) {
	var j eventJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return Event{}, E(Internal, "decode event: %w", err)
	}
	e := Event{Step: j.Step, Message: j.Message, OTID: j.OTID, Part: j.Part}
	var err error
	if e.Body, err = decodeBody(j.Kind, j.Body); err != nil {
		return Event{}, err
	}
	return e, nil
}

func decodeBody(kind string, data []byte) (EventBody, error) {
	decoders := map[string]func([]byte) (EventBody, error){
		"text":        decodeAs[Said],
		"reasoning":   decodeAs[Reasoning],
		"tool_call":   decodeAs[ToolCallDelta],
		"tool_return": decodeAs[ToolReturned],
		"tokens":      decodeAs[Generated],
		"user_input":  decodeAs[UserInput],
		"summary":     decodeAs[Summary],
		"compacting":  decodeAs[Compacting],
		"notice":      decodeAs[Notice],
		"saved":       decodeAs[Saved],
		"usage":       decodeAs[UsageReport],
		"failure":     decodeAs[Failure],
		"stop":        decodeAs[Stop],
	}
	decode, ok := decoders[kind]
	if !ok {
		return nil, E(Internal, "unknown event kind %q", kind)
	}
	return decode(data)
}

func decodeAs[T EventBody](data []byte) (EventBody, error) {
	var v T
	if err := json.Unmarshal(data, &v); err != nil {
		return nil, E(Internal, "decode event: %w", err)
	}
	return v, nil
}

// Change hints that something changed. Hints may be lost or merged: they are never the source of truth.
type Change struct {
	Agent        AgentID
	Conversation ConversationID
	Run          RunID
}
