package textcalls

import "strings"

// Marks of the forms whose calls are JSON.
const (
	callOpen      = "<tool_call>"
	callClose     = "</tool_call>"
	pythonTag     = "<|python_tag|>"
	functionOpen  = "<function="
	functionClose = "</function>"
	mistralMark   = "[TOOL_CALLS]"
)

// wait is more, unless nothing more can come.
func wait(final bool) verdict {
	if final {
		return no
	}
	return more
}

// jsonCalls reads JSON that holds calls, at the beginning of a text.
func jsonCalls(text string, final bool, tools []Tool) ([]Call, int, verdict) {
	lead := strings.TrimLeft(text, blank)
	n, v := value(lead)
	switch {
	case v == no || otherwise(lead, tools) && !strings.HasPrefix(lead, "[") && unnamed(lead):
		return nil, 0, no
	case v == more:
		return nil, 0, wait(final)
	}
	calls, ok := callsIn(lead[:n], false, tools)
	if !ok {
		return nil, 0, no
	}
	return calls, len(text) - len(lead) + n, done
}

// unnamed reports whether the first field of an object is the name of a tool: then it says for whom the call is.
func unnamed(text string) bool {
	key, _, whole := quotedText(strings.TrimLeft(strings.TrimPrefix(text, "{"), blank))
	return whole && key == "name"
}

// closed looks for the end mark of a call behind it. It may be missing where the answer ends, or another call begins: some
// servers take it for the end of the answer.
func closed(text, mark string, final bool, others ...string) (n int, v verdict) {
	rest := strings.TrimLeft(text, blank)
	lead := len(text) - len(rest)
	switch {
	case strings.HasPrefix(rest, mark):
		return lead + len(mark), done
	case rest == "" && final:
		return len(text), done
	case strings.HasPrefix(mark, rest) || !final && beginsEnd(rest):
		return 0, wait(final)
	}
	for _, other := range append(ends[:len(ends):len(ends)], others...) {
		switch {
		case strings.HasPrefix(rest, other):
			return lead, done
		case strings.HasPrefix(other, rest):
			return 0, wait(final)
		}
	}
	return 0, no
}

func hermes(text string, final bool, tools []Tool) ([]Call, int, verdict) {
	mark, end := callOpen, callClose
	if !strings.HasPrefix(text, mark) {
		mark, end = "<|tool_call|>", "<|/tool_call|>"
	}
	calls, n, v := jsonCalls(text[len(mark):], final, tools)
	if v != done {
		return nil, 0, v
	}
	n += len(mark)
	m, v := closed(text[n:], end, final, mark)
	return calls, n + m, v
}

// llama reads {"name":…,"parameters":…} behind the tag, several with semicolons between them, and the form that names the tool in
// a tag of its own.
func llama(text string, final bool, tools []Tool) ([]Call, int, verdict) {
	if strings.HasPrefix(text, functionOpen) {
		return functionTag(text, final, tools)
	}
	var all []Call
	n := len(pythonTag)
	for {
		calls, m, v := jsonCalls(text[n:], final, tools)
		if v != done {
			return nil, 0, v
		}
		all = append(all, calls...)
		n += m
		rest := strings.TrimLeft(text[n:], blank)
		if !strings.HasPrefix(rest, ";") && (!strings.HasPrefix(rest, "{") || len(all) > mostCalls) {
			return all, n, done
		}
		if behind := strings.TrimLeft(strings.TrimPrefix(rest, ";"), blank); behind == "" || beginsEnd(behind) {
			if !final && behind == "" {
				return nil, 0, more
			}
			return all, len(text) - len(behind), done // a semicolon at the very end
		}
		n = len(text) - len(strings.TrimPrefix(rest, ";"))
	}
}

// functionTag reads <function=name>{…}</function>.
func functionTag(text string, final bool, tools []Tool) ([]Call, int, verdict) {
	name, n, v := tagName(text[len(functionOpen):], final, tools)
	if v != done {
		return nil, 0, v
	}
	n += len(functionOpen)
	lead := strings.TrimLeft(text[n:], blank)
	size, v := value(lead)
	switch v {
	case no:
		return nil, 0, no
	case more:
		return nil, 0, wait(final)
	case done:
	}
	arguments, ok := mended(lead[:size])
	if !ok || arguments[0] != '{' {
		return nil, 0, no
	}
	n = len(text) - len(lead) + size
	m, v := closed(text[n:], functionClose, final, functionOpen)
	return []Call{{name, string(arguments)}}, n + m, v
}

// tagName reads the name of an offered tool up to the end of its tag.
func tagName(text string, final bool, tools []Tool) (name string, n int, v verdict) {
	name, _, whole := strings.Cut(text, ">")
	if !whole {
		if len(name) > mostName || strings.Contains(name, "\n") {
			return "", 0, no
		}
		return "", 0, wait(final)
	}
	n = len(name) + 1
	name = strings.Trim(name, `"' `)
	if _, ok := find(tools, name); !ok {
		return "", 0, no
	}
	return name, n, done
}

// mostName limits what is looked at for the end of a name.
const mostName = 256

// mistral reads a list of calls behind the mark, or a name with its arguments.
func mistral(text string, final bool, tools []Tool) ([]Call, int, verdict) {
	const idMark, argsMark = "[CALL_ID]", "[ARGS]"
	body := text[len(mistralMark):]
	lead := strings.TrimLeft(body, blank)
	if lead == "" {
		return nil, 0, wait(final)
	}
	if lead[0] == '[' || lead[0] == '{' {
		calls, n, v := jsonCalls(body, final, tools)
		return calls, len(mistralMark) + n, v
	}
	at := strings.IndexAny(lead, "[{")
	if at < 0 {
		if len(lead) > mostName || strings.ContainsAny(strings.TrimRight(lead, blank), blank) {
			return nil, 0, no
		}
		return nil, 0, wait(final)
	}
	name := strings.TrimSpace(lead[:at])
	if _, ok := find(tools, name); !ok {
		return nil, 0, no
	}
	rest := lead[at:]
	if strings.HasPrefix(rest, idMark) {
		next := strings.IndexAny(rest[len(idMark):], "[{")
		if next < 0 {
			if len(rest) > mostName {
				return nil, 0, no
			}
			return nil, 0, wait(final)
		}
		rest = rest[len(idMark)+next:]
	}
	if rest[0] == '[' {
		switch {
		case strings.HasPrefix(rest, argsMark):
			rest = rest[len(argsMark):]
		case strings.HasPrefix(argsMark, rest) || strings.HasPrefix(idMark, rest):
			return nil, 0, wait(final)
		default:
			return nil, 0, no
		}
	}
	rest = strings.TrimLeft(rest, blank)
	size, v := value(rest)
	switch v {
	case no:
		return nil, 0, no
	case more:
		return nil, 0, wait(final)
	case done:
	}
	arguments, ok := mended(rest[:size])
	if !ok || arguments[0] != '{' {
		return nil, 0, no
	}
	return []Call{{name, string(arguments)}}, len(text) - len(rest) + size, done
}
