package openai

import "strings"

// Wire is one of the two request formats.
type Wire string

// The wires. The zero value is Chat.
const (
	Chat      Wire = ""
	Responses Wire = "responses"
	ByFamily  Wire = "by_family" // Responses for reasoning models, Chat for the others
)

// Force is how far a server obeys a forced tool choice.
type Force string

// The levels of obedience. The zero value accepts a tool's name.
const (
	ForceNamed    Force = ""         // {"type":"function",…} and "required"
	ForceRequired Force = "required" // only strings: a named choice becomes "required"
	ForceAny      Force = "any"      // only strings, and the word is "any"
	ForceNot      Force = "auto"     // the model decides, whatever was requested
)

// Effort is how a reasoning effort is requested.
type Effort string

// The ways to request an effort. The zero value doesn't send it.
const (
	EffortFlat     Effort = "reasoning_effort"
	EffortLevels   Effort = "levels"            // the same, low, medium and high only
	EffortObject   Effort = "reasoning"         // {"reasoning":{"effort":…}}
	EffortDeepSeek Effort = "deepseek"          // three levels, and thinking.type to turn it off
	EffortTemplate Effort = "chat_template_arg" // chat_template_kwargs.enable_thinking, only to turn it off
)

// History is how much of its own reasoning a server wants sent back.
type History string

// What is sent back. The zero value is nothing.
const (
	HistoryCalls   History = "calls"   // reasoning_content with tool calls, if there was any
	HistoryAlways  History = "always"  // the same, and "" if there wasn't
	HistoryDetails History = "details" // reasoning_details, verbatim
)

// Parallel is how a server is told whether to make several calls at once.
type Parallel string

// The ways. The zero value says nothing unless several calls are unwanted.
const (
	ParallelOff   Parallel = ""
	ParallelOn    Parallel = "on"    // off by default on the server, so send true as well
	ParallelNever Parallel = "never" // the field is refused or unknown
)

// WindowPlace is where a server reports the window it actually runs with.
type WindowPlace string

// The places. The zero value has none besides the listing.
const (
	RunningProps    WindowPlace = "props"    // llama.cpp: /props
	RunningLMStudio WindowPlace = "lmstudio" // LM Studio: /api/v1/models
)

// Quirks is how a server differs. It is the protocol as that server speaks it.
type Quirks struct {
	Wire            Wire
	OwnHost         bool // OpenAI itself: model families are known, prompt_cache_key and user names are supported
	CompletionLimit bool // the output limit is max_completion_tokens
	NoStreamOptions bool // usage is sent unasked, and asking for it is refused
	Force           Force
	Parallel        Parallel
	Effort          Effort
	History         History
	ShortIDs        bool   // call ids must be exactly nine letters and digits
	NoUserAfterTool bool   // an assistant message is required between a tool's result and a user message
	CacheKey        bool   // prompt_cache_key is supported
	NoSummary       bool   // Responses: a reasoning summary can't be requested
	SystemRole      string // role of the first message on Chat; "system" if empty
	Running         WindowPlace
	Whole           bool // requests don't stream
	FormBars        bool // a form of the answer is forced onto each response, so that no tool could be called
	TokenIDs        bool // on Chat, it gives the ids and probabilities of what it generates
}

// Reasons reports whether a model with one of OpenAI's names reasons: it takes no sampling parameters, and newer ones
// call tools on Responses only.
func Reasons(model string) bool {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	if strings.Contains(name, "-chat") {
		return false
	}
	for _, family := range []string{"o1", "o3", "o4", "gpt-5", "gpt-6", "gpt-7"} {
		if rest, ok := strings.CutPrefix(name, family); ok && (rest == "" || strings.ContainsRune("-.:", rune(rest[0]))) {
			return true
		}
	}
	return false
}

// wire returns the wire to use for a model.
func (q Quirks) wire(model string) Wire {
	if q.Wire != ByFamily {
		return q.Wire
	}
	if Reasons(model) {
		return Responses
	}
	return Chat
}

// GivesTokens reports whether the ids and probabilities of what a model generates can be asked for.
func (q Quirks) GivesTokens(model string) bool { return q.TokenIDs && q.wire(model) == Chat }
