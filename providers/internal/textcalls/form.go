package textcalls

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Form is a way to write calls.
type Form string

// The forms, named after the models that were the first to use them.
const (
	Hermes     Form = "hermes"      // <tool_call>{"name":…,"arguments":{…}}</tool_call>
	Llama      Form = "llama"       // <|python_tag|>{"name":…,"parameters":{…}}, <function=name>{…}</function>
	Mistral    Form = "mistral"     // [TOOL_CALLS][{"name":…,"arguments":{…}}], [TOOL_CALLS]name[ARGS]{…}
	Qwen3Coder Form = "qwen3-coder" // <tool_call><function=name><parameter=key>value</parameter></function></tool_call>
	GLM        Form = "glm"         // <tool_call>name<arg_key>key</arg_key><arg_value>value</arg_value></tool_call>
	DeepSeek   Form = "deepseek"    // <｜tool▁call▁begin｜>name<｜tool▁sep｜>{…}<｜tool▁call▁end｜>, <｜DSML｜invoke name="name">
	GPTOSS     Form = "gpt-oss"     // <|channel|>commentary to=functions.name<|message|>{…}<|call|>
	JSON       Form = "json"        // an answer that is nothing but {"name":…,"arguments":{…}}, fenced or bare
)

// Forms returns every form. An answer in one that accepts what another does is told by the plainest of them.
func Forms() []Form { return []Form{JSON, Hermes, Qwen3Coder, GLM, Llama, Mistral, DeepSeek, GPTOSS} }

// Known reports whether there is a form with this name.
func Known(name string) bool { return slices.Contains(Forms(), Form(name)) }

// Tool is a tool that was offered.
type Tool struct {
	Name       string
	Parameters json.RawMessage // the schema of its arguments; it says what a value without quotes is
}

// Call is a call that was written. Arguments is the text of a JSON object.
type Call struct{ Name, Arguments string }

// verdict is what a text is that begins like a call.
type verdict int

const (
	no   verdict = iota // none, whatever follows
	more                // it depends on what follows
	done                // a call
)

// grammar is how a form is read.
type grammar struct {
	marks []string // what a call begins with
	// one reads a call, or several in one mark, at the beginning of a text, and says how long it is. If the text isn't final, no
	// and done hold for every text that begins with it, except that done may become no.
	one   func(text string, final bool, tools []Tool) (calls []Call, n int, v verdict)
	whole bool // an answer that is nothing but JSON counts, too: servers drop the marks of these forms
}

func (f Form) grammar() grammar {
	switch f {
	case Hermes:
		return grammar{marks: []string{callOpen, "<|tool_call|>"}, one: hermes, whole: true}
	case Llama:
		return grammar{marks: []string{pythonTag, functionOpen}, one: llama, whole: true}
	case Mistral:
		return grammar{marks: []string{mistralMark}, one: mistral, whole: true}
	case Qwen3Coder:
		return grammar{marks: []string{callOpen, functionOpen}, one: qwen}
	case GLM:
		return grammar{marks: []string{callOpen}, one: glm}
	case DeepSeek:
		return grammar{marks: []string{deepBegin, deepOne, dsmlBegin}, one: deepSeek}
	case JSON:
		return grammar{whole: true}
	case GPTOSS: // see channels
	}
	return grammar{}
}

// anyName is the name of the tool that stands for every other.
const anyName = "*"

// anyTool are tools among which every name is found that one can have.
func anyTool() []Tool { return []Tool{{Name: anyName}} }

// find returns the tool with a name.
func find(tools []Tool, name string) (Tool, bool) {
	if len(tools) == 1 && tools[0].Name == anyName {
		return Tool{Name: name}, possible(name)
	}
	at := slices.IndexFunc(tools, func(t Tool) bool { return t.Name == name })
	if at < 0 {
		return Tool{}, false
	}
	return tools[at], true
}

// possible reports whether a tool can have a name.
func possible(name string) bool {
	const longest = 64
	for _, r := range name {
		if r >= utf8.RuneSelf || !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("_-.:/", r) {
			return false
		}
	}
	return name != "" && len(name) <= longest
}
