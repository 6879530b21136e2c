package core

import (
	"context"
	"encoding/json"
	"errors"
	"iter"
	"strings"
)

// ChatModel streams one assistant turn. The sequence ends with one Delta whose End is set, carrying Finish and Usage,
// or with one *Error of kind rate_limited, unavailable, unauthenticated, no_credit, invalid, too_long, cancelled or timeout,
// its Provider flag set. Breaking out of the sequence or ending ctx stops the request at once.
type ChatModel interface {
	Stream(ctx context.Context, req ChatRequest) iter.Seq2[Delta, error]
}

// ChatRequest is what a model is asked. It is already valid: every call has its result in the next message, no
// message is empty, roles alternate as wires need them (several user messages in a row are allowed).
type ChatRequest struct {
	Model    string // the provider's own name
	System   string
	Messages []ChatMessage
	Tools    []ToolSpec // empty: none offered
	Choice   ToolChoice
	Parallel bool // whether several calls in one turn are welcome
	Settings ModelSettings
	Window   int    // context window to ask the server for, in tokens
	Prefix   string // hash of what native items are bound to
	CacheKey string // the same for all requests of one conversation
}

// ToolChoice says whether a tool must be called. The zero value leaves it to the model.
type ToolChoice struct {
	Mode ToolChoiceMode `json:"mode,omitempty"`
	Name string         `json:"name,omitempty"` // with ChoiceNamed
}

// ToolChoiceMode is how strongly a call is wanted.
type ToolChoiceMode string

// The tool choices.
const (
	ChoiceAuto     ToolChoiceMode = ""
	ChoiceRequired ToolChoiceMode = "required"
	ChoiceNamed    ToolChoiceMode = "named"
	ChoiceNone     ToolChoiceMode = "none"
)

// ChatRole is who speaks in a request.
type ChatRole string

// The roles in a request. A reminder comes from the program, not from a person: wires without a system role in
// mid-thread send it as a user message inside <system-reminder> tags.
const (
	ChatUser      ChatRole = "user"
	ChatAssistant ChatRole = "assistant"
	ChatTool      ChatRole = "tool"
	ChatReminder  ChatRole = "reminder"
)

// ChatMessage is one message of a request.
type ChatMessage struct {
	Role      ChatRole
	Text      string
	Name      string       // of a user, optional
	Reasoning string       // of an assistant turn, normalised
	Calls     []ToolCall   // of an assistant turn
	Returns   []ChatReturn // of a tool message: one for each call of the turn before it, in call order
	Native    *Native      // the provider's own item for an assistant turn, set only where it may be replayed
}

// ChatReturn is what a tool gave back, as the model sees it.
type ChatReturn struct {
	CallID  string
	Name    string
	Text    string
	IsError bool
}

// ToolCall is a model's request to call a tool. Arguments is the JSON text as the model wrote it; "{}" when empty.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

// Native keeps a provider's own form of an assistant turn (signed reasoning, encrypted items, call ids) so that it can
// be replayed to the same provider and model, and where the model binds the prefix, only behind the same prefix.
type Native struct {
	Provider string          `json:"provider"`
	Model    string          `json:"model"`
	Prefix   string          `json:"prefix"`
	Data     json.RawMessage `json:"data"`
}

// Delta is a piece of an assistant turn. At most one of Text, Reasoning and Call is set; Native may come with the end.
type Delta struct {
	Text      string
	Reasoning string
	Signature string // of the reasoning before it
	Call      *CallDelta
	Native    json.RawMessage // the provider's own items, whole
	End       bool            // the last one
	Finish    Finish          // with End
	Usage     *Usage          // with End, nil if the provider reports none
}

// CallDelta is a piece of a tool call. The first piece of an index carries ID and Name; later ones only Arguments.
type CallDelta struct {
	Index     int
	ID        string
	Name      string
	Arguments string
}

// Finish is why a model stopped.
type Finish string

// The finishes.
const (
	FinishStop     Finish = "stop"   // it was done, with or without calls
	FinishLength   Finish = "length" // the output limit was reached
	FinishFiltered Finish = "filtered"
)

// Models finds who answers.
type Models interface {
	// Chat resolves a handle with the asker's variables. Unknown handles are not_found, a missing key is unauthenticated
	// (ErrNoKey).
	Chat(ctx context.Context, handle Handle, env Env) (ChatModel, ModelInfo, error)
	// List returns the chat models that can be reached with the asker's variables, in the order of preference.
	List(ctx context.Context, env Env) ([]ModelInfo, error)
	// First looks for the first reachable real model of the asker's environment (keys present, a local server up; one
	// with tools first).
	First(ctx context.Context, env Env) Reach
	// Unbuilt names the variables that are set for providers that are not built yet. It asks nobody.
	Unbuilt(env Env) []string
	// Moved tells which providers the asker's variables put at another address than their own: a digest of the address
	// by the provider's name. It asks nobody.
	Moved(env Env) map[string]string
}

// ErrNoKey is why a model's provider is not even asked.
var ErrNoKey = errors.New("there is no key")

// Reach is what looking for a model in an asker's environment found.
type Reach struct {
	Info    ModelInfo
	OK      bool     // Info is a model
	Because string   // what led to it, like "OPENAI_API_KEY is set"
	Failed  []string // what is set up and did not work, as sentences without their full stop
}

// mostNamed bounds how many models a hint names.
const mostNamed = 20

// CheckListed refuses a model that its provider's listing, where one can be read, does not hold. A variant of a listed
// model, behind a colon, passes: listings leave those out.
func CheckListed(ctx context.Context, models Models, handle Handle, env Env) error {
	if err := handle.Validate(); err != nil {
		return err
	}
	provider, name, _ := handle.Split()
	if provider == OfflineHandle.Provider() {
		return nil
	}
	all, err := models.List(ctx, env)
	if err != nil {
		return nil //nolint:nilerr // who cannot be asked may have it
	}
	base, _, _ := strings.Cut(name, ":")
	var named []string
	for _, m := range all {
		if m.Handle.Provider() != provider {
			continue
		}
		_, listed, _ := m.Handle.Split()
		if listed, _, _ = strings.Cut(listed, ":"); listed == base {
			return nil
		}
		named = append(named, string(m.Handle))
	}
	if len(named) == 0 {
		return nil
	}
	more := ""
	if len(named) > mostNamed {
		named, more = named[:mostNamed], ", and more: loci models"
	}
	return E(NotFound, "%s has no model %q", provider, name).WithHint("there are %s%s", strings.Join(named, ", "), more)
}
