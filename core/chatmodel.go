package core

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"strings"
	"time"
)

// ChatModel streams one assistant turn. The sequence ends with one Delta whose End is set, carrying Finish and Usage, or
// with one *Error of kind rate_limited, unavailable, unauthenticated, no_credit, invalid, not_found (the server does not
// have the model), too_long, cancelled or timeout, with its Provider flag set. Breaking out of the sequence or
// cancelling ctx stops the request at once.
type ChatModel interface {
	Stream(ctx context.Context, req ChatRequest) iter.Seq2[Delta, error]
}

// ChatRequest is what to ask a model. It is already valid: every call has its result in the next message, no message is
// empty, roles alternate as providers need (several user messages in a row are allowed).
type ChatRequest struct {
	Model    string // the provider's own name
	System   string
	Messages []ChatMessage
	Tools    []ToolSpec // empty: no tools are offered
	Choice   ToolChoice
	Parallel bool // whether several calls in one turn are welcome
	Settings ModelSettings
	Window   int        // context window to ask the server for, in tokens
	Info     ModelInfo  // what is known about the model; filled in by whoever resolved the handle
	Prefix   string     // hash of what native items are bound to
	CacheKey string     // the same for every request of a conversation
	Most     int        // tokens that the answer may have at most, thoughts among them, whatever the settings say; 0: no limit
	Hurried  bool       // somebody else will be asked if this fails: don't wait and ask again
	Tokens   *TokenWish // of the answer; nil: nothing. Only for models whose Info says that their server gives them
}

// Family is the name by which it is known what the model takes.
func (r *ChatRequest) Family() string { return cmp.Or(r.Info.Base, r.Model) }

// ToolChoice says whether the model must call a tool. The zero value leaves it to the model.
type ToolChoice struct {
	Mode ToolChoiceMode `json:"mode,omitempty"`
	Name string         `json:"name,omitempty"` // with ChoiceNamed
}

// ToolChoiceMode is how strongly a call is requested.
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

// The roles in a request. A reminder comes from the program, not from a person: providers without a mid-thread system
// role get it as a user message, see Reminder.
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
	Joined    []string     // of a user message: the reminders that Text holds before what the user says
	Pictures  []PictureAt  // of a user message, by their place in Text; see Pieces
	Name      string       // of a user; optional
	Reasoning string       // of an assistant turn, normalised
	Calls     []ToolCall   // of an assistant turn
	Returns   []ChatReturn // of a tool message: one for each call of the preceding turn, in call order
	Native    *Native      // the provider's own item for an assistant turn, set only if it may be replayed
}

// ReminderTag is the tag around a reminder in a user message.
const ReminderTag = "system-reminder"

// Reminder returns what the program says as it stands in a user message.
func Reminder(text string) string {
	return "<" + ReminderTag + ">\n" + text + "\n</" + ReminderTag + ">"
}

// Asked returns a user message: the preface as its first line, then what joins it, then the text, so that a question
// stands last. Nothing that joins it can end its reminder early.
func Asked(preface, text string, joins ...string) ChatMessage {
	m := ChatMessage{Role: ChatUser}
	var b strings.Builder
	if preface != "" {
		b.WriteString(preface + "\n")
	}
	for _, j := range joins {
		j = Untagged(j, ReminderTag)
		m.Joined = append(m.Joined, j)
		b.WriteString(Reminder(j) + "\n")
	}
	b.WriteString(text)
	m.Text = b.String()
	return m
}

// Said returns the text without what joined it.
func (m *ChatMessage) Said() string {
	text := m.Text
	for _, j := range m.Joined {
		text = strings.Replace(text, Reminder(j)+"\n", "", 1)
	}
	return text
}

// ChatReturn is a tool's return as the model sees it.
type ChatReturn struct {
	CallID   string
	Name     string
	Text     string
	IsError  bool
	Pictures []Picture // behind the text
}

// ToolCall is a model's request to call a tool. Arguments is the JSON text as the model wrote it; "{}" when empty.
type ToolCall struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
	Via       string `json:"via,omitempty"` // the tool by which the model called it, as it is told again; empty: it was called itself
	// Dropped says that nothing wanted it beside the first of its response: it is sent with an error for a return, so that no id
	// stays without one, and neither is listed.
	Dropped bool `json:"dropped,omitempty"`
}

// Native keeps a provider's own form of an assistant turn (signed reasoning, encrypted items, call ids) so that it can
// be replayed to the same provider, endpoint and model and, if the model binds the prefix, only after the same prefix.
type Native struct {
	Provider string `json:"provider"`
	// Endpoint is where it came from, without credentials; empty: recorded before endpoints were kept.
	Endpoint string          `json:"endpoint,omitempty"`
	Model    string          `json:"model"`
	Prefix   string          `json:"prefix"`
	Data     json.RawMessage `json:"data"`
}

// Delta is a piece of an assistant turn. At most one of Text, Reasoning and Call is set; Native may come with the end. A
// Notice is not part of the turn: it tells a person why nothing has arrived yet.
type Delta struct {
	Notice    *Notice
	Thought   bool // all Text so far turned out to be reasoning
	Text      string
	Reasoning string
	Signature string // of the preceding reasoning
	Call      *CallDelta
	Native    json.RawMessage // the provider's own items, complete
	End       bool            // the last one
	Finish    Finish          // with End
	Usage     *Usage          // with End, nil if the provider reports none
	Tokens    *Tokens         // with End, if they were asked for
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
	FinishStop     Finish = "stop"     // the model was done, with or without calls
	FinishLength   Finish = "length"   // the output limit was reached
	FinishFiltered Finish = "filtered" // the provider's filter cut it off
	FinishRefused  Finish = "refused"  // the model declined to answer; its text, if any, says so
)

// Models finds the model that answers.
type Models interface {
	// Chat resolves a handle with the caller's variables. An unknown handle is not_found; a missing key is unauthenticated
	// (ErrNoKey), and the information returned with it is what is known without asking.
	Chat(ctx context.Context, handle Handle, env Env) (ChatModel, ModelInfo, error)
	// List returns the models that can be reached with the caller's variables, in order of preference; those that can't chat
	// say why.
	List(ctx context.Context, env Env, query ModelQuery) ([]ModelInfo, error)
	// First looks for the first reachable real model in the caller's environment (keys present, a local server up),
	// preferring one with tools.
	First(ctx context.Context, env Env) Reach
	// Silent says which providers the caller has set up offer no model, and why, as sentences without a full stop.
	Silent(ctx context.Context, env Env) []string
	// Unbuilt names the variables that are set for providers that aren't built yet. It makes no request.
	Unbuilt(env Env) []string
	// Moved says which providers the caller's variables move to another address: it maps the provider's name to a digest of
	// the address. It makes no request.
	Moved(env Env) map[string]string
}

// ModelQuery says what to list.
type ModelQuery struct {
	Provider string        // this one and no other; empty: all
	MaxAge   time.Duration // how old the listing of a provider may be; 0: as old as it is remembered
}

// ListedNow is how old a listing may be that somebody asked for.
const ListedNow = time.Second

// ErrNoKey says that a model's provider wasn't even asked.
var ErrNoKey = errors.New("there is no key")

// Reach is the result of looking for a model in a caller's environment.
type Reach struct {
	Info    ModelInfo
	OK      bool     // Info is a model
	Because string   // what led to it, like "OPENAI_API_KEY is set"
	Failed  []string // what is set up but didn't work, as sentences without a full stop
}

// mostNear limits how many models a warning names.
const mostNear = 5

// unlistedAge is how old a listing may be that is said to lack a model: it may have been pulled or loaded just now.
const unlistedAge = 10 * time.Second

// Unlisted returns a warning if the provider's listing can be read but doesn't contain the model, else "". Such a model
// may exist all the same: deployments, adapters and aliases are often not listed. A variant of a listed model, after a
// colon, counts as listed.
func Unlisted(ctx context.Context, models Models, handle Handle, env Env) string {
	provider, name, ok := handle.Split()
	if !ok || provider == OfflineHandle.Provider() {
		return ""
	}
	base, _, _ := strings.Cut(name, ":")
	var named []string
	for _, age := range []time.Duration{0, unlistedAge} { // what is remembered may do
		all, err := models.List(ctx, env, ModelQuery{Provider: provider, MaxAge: age})
		if err != nil {
			return "" // a provider that can't be asked may have it
		}
		var listed bool
		if named, listed = namedBy(all, provider, base); listed {
			return ""
		}
	}
	if len(named) == 0 {
		return ""
	}
	said := fmt.Sprintf("%s does not list %q; asking it anyway.", provider, name)
	if like := near(base, named); len(like) > 0 {
		return said + " The closest names are " + strings.Join(like, ", ") + "."
	}
	return said + " What it lists: loci models."
}

// namedBy returns the models of a provider that chat, and whether one of its models has a name.
func namedBy(all []ModelInfo, provider, base string) (named []string, listed bool) {
	others := func(m ModelInfo) bool { return m.Handle.Provider() != all[0].Handle.Provider() }
	if len(all) > 0 && !slices.ContainsFunc(all, others) {
		provider = all[0].Handle.Provider() // the only one: it may have been asked for by another name
	}
	for _, m := range all {
		if m.Handle.Provider() != provider {
			continue
		}
		_, name, _ := m.Handle.Split()
		if name, _, _ = strings.Cut(name, ":"); name == base {
			return nil, true
		}
		if m.Hidden == "" {
			named = append(named, string(m.Handle))
		}
	}
	return named, false
}

// leastAlike is the share of common pairs of letters from which a name may be what was meant.
const leastAlike = .25

// NearHandles returns those of the handles whose models have names like that of h.
func NearHandles(h Handle, handles []string) []string {
	_, name, _ := h.Split()
	return near(name, handles)
}

// near returns the handles of a few models whose names are like the word, those most like it first.
func near(word string, handles []string) []string {
	pairs := func(s string) map[string]bool {
		out := map[string]bool{}
		for i := range len(s) - 1 {
			out[strings.ToLower(s[i:i+2])] = true
		}
		return out
	}
	of := pairs(word)
	alike := func(name string) float64 {
		theirs, shared := pairs(name), 0
		for p := range theirs {
			if of[p] {
				shared++
			}
		}
		return 2 * float64(shared) / max(float64(len(of)+len(theirs)), 1)
	}
	likeness := map[string]float64{}
	var out []string
	for _, h := range handles {
		if _, name, _ := Handle(h).Split(); alike(name) >= leastAlike {
			likeness[h] = alike(name)
			out = append(out, h)
		}
	}
	slices.SortStableFunc(out, func(a, b string) int { return cmp.Compare(likeness[b], likeness[a]) })
	return out[:min(len(out), mostNear)]
}
