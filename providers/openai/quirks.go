package openai

import "strings"

// Wire is one of the two ways to ask.
type Wire string

// The wires. The zero value is Chat.
const (
	Chat      Wire = ""
	Responses Wire = "responses"
	ByFamily  Wire = "by_family" // Responses for models that reason, Chat for the others
)

// Force is how far a server obeys a forced tool choice.
type Force string

// The levels of obedience. The zero value takes a name.
const (
	ForceNamed    Force = ""         // {"type":"function",…} and "required"
	ForceRequired Force = "required" // only strings: a named choice becomes "required"
	ForceAny      Force = "any"      // only strings, and the word is "any"
	ForceNot      Force = "auto"     // the model decides, whatever was asked
)

// Effort is how a wish for reasoning effort is written.
type Effort string

// The ways to write an effort. The zero value does not send it.
const (
	EffortFlat     Effort = "reasoning_effort"
	EffortLevels   Effort = "levels"            // the same, low, medium and high only
	EffortObject   Effort = "reasoning"         // {"reasoning":{"effort":…}}
	EffortDeepSeek Effort = "deepseek"          // three levels, and thinking.type to turn it off
	EffortTemplate Effort = "chat_template_arg" // chat_template_kwargs.enable_thinking, only to turn it off
)

// History is what of its own reasoning a server wants to see again.
type History string

// What goes back. The zero value is nothing.
const (
	HistoryCalls   History = "calls"   // reasoning_content beside tool calls, where it was given
	HistoryAlways  History = "always"  // the same, and "" where none was given
	HistoryDetails History = "details" // reasoning_details, verbatim
)

// Parallel is how a server is told whether several calls are welcome.
type Parallel string

// The ways. The zero value says nothing unless several calls are unwelcome.
const (
	ParallelOff   Parallel = ""
	ParallelOn    Parallel = "on"    // off by default at the server: say true as well
	ParallelNever Parallel = "never" // the field is refused or unknown
)

// Running is where a server tells the window that it really runs with.
type Running string

// The places. The zero value has none beside the listing.
const (
	RunningProps    Running = "props"    // llama.cpp: /props
	RunningLMStudio Running = "lmstudio" // LM Studio: /api/v1/models
)

// Quirks is what is different about a server.
type Quirks struct {
	Wire            Wire
	OwnHost         bool // OpenAI itself: families are known, prompt_cache_key and user names are understood
	CompletionLimit bool // the output limit is max_completion_tokens
	NoStreamOptions bool // usage comes without asking, and asking is refused
	Force           Force
	Parallel        Parallel
	Effort          Effort
	History         History
	ShortIDs        bool   // call ids are exactly nine letters and digits
	NoUserAfterTool bool   // an assistant's word must stand between a tool's result and a user
	CacheKey        bool   // prompt_cache_key is understood
	NoSummary       bool   // Responses: a summary of the reasoning cannot be asked for
	SystemRole      string // of the first message on Chat; "system" if empty
	Running         Running
	Whole           bool // the server is asked without streaming
}

// Reasons reports whether a model of OpenAI's naming reasons: it takes no sampling parameters, and newer ones call
// tools on Responses only.
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

// wire returns the wire that a model is asked on.
func (q Quirks) wire(model string) Wire {
	if q.Wire != ByFamily {
		return q.Wire
	}
	if Reasons(model) {
		return Responses
	}
	return Chat
}
