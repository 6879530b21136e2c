package textcalls

import "strings"

// Marks of the forms that write arguments without quotes.
const (
	parameterOpen  = "<parameter="
	parameterClose = "</parameter>"
	keyOpen        = "<arg_key>"
	keyClose       = "</arg_key>"
	valueOpen      = "<arg_value>"
	valueClose     = "</arg_value>"
)

// step says what stands at the beginning of a text, behind blanks: one of the marks, what may become one, or nothing of them.
func step(text string, final bool, marks ...string) (at int, rest string, v verdict) {
	text = strings.TrimLeft(text, blank)
	for i, m := range marks {
		if strings.HasPrefix(text, m) {
			return i, text[len(m):], done
		}
	}
	for _, m := range marks {
		if strings.HasPrefix(m, text) {
			return 0, "", wait(final)
		}
	}
	return 0, "", no
}

// qwen reads a function in tags; in its mark, also what Hermes models write there.
func qwen(text string, final bool, tools []Tool) ([]Call, int, verdict) {
	wrapped := strings.HasPrefix(text, callOpen)
	body := strings.TrimPrefix(text, callOpen)
	if lead := strings.TrimLeft(body, blank); wrapped && strings.HasPrefix(lead, "{") {
		return hermes(text, final, tools)
	}
	_, rest, v := step(body, final, functionOpen)
	if v != done {
		return nil, 0, v
	}
	name, n, v := tagName(rest, final, tools)
	if v != done {
		return nil, 0, v
	}
	tool, _ := find(tools, name)
	args, rest, v := parameters(rest[n:], final, tool)
	if v != done {
		return nil, 0, v
	}
	n = len(text) - len(rest)
	if wrapped {
		m, v := closed(rest, callClose, final, callOpen)
		if v != done {
			return nil, 0, v
		}
		n += m
	}
	return []Call{{name, args.text()}}, n, done
}

// parameters reads tags of parameters up to the end of their function.
func parameters(text string, final bool, tool Tool) (args *arguments, rest string, v verdict) {
	args = &arguments{tool: tool}
	for {
		at, rest, v := step(text, final, parameterOpen, functionClose)
		switch {
		case v != done:
			return nil, "", v
		case at == 1:
			return args, rest, done
		}
		key, value, whole := strings.Cut(rest, ">")
		if !whole {
			if len(key) > mostName {
				return nil, "", no
			}
			return nil, "", wait(final)
		}
		var n int
		if n, text, v = parameterEnd(value, final); v != done {
			return nil, "", v
		}
		if !args.add(strings.Trim(key, `"' `), unframed(value[:n])) {
			return nil, "", no
		}
	}
}

// parameterEnd finds the end of a parameter: the first mark of it behind which the next tag stands, so that a value may hold the
// mark.
func parameterEnd(text string, final bool) (n int, rest string, v verdict) {
	for from := 0; ; {
		at := strings.Index(text[from:], parameterClose)
		if at < 0 {
			return 0, "", wait(final)
		}
		n, from = from+at, from+at+len(parameterClose)
		switch _, _, v := step(text[from:], final, parameterOpen, functionClose); v {
		case done:
			return n, text[from:], done
		case more:
			return 0, "", more
		case no:
		}
	}
}

// unframed returns a value without the line breaks that templates put around it.
func unframed(text string) string {
	text = strings.TrimPrefix(strings.TrimPrefix(text, "\r"), "\n")
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

// glm reads a name with pairs of keys and values.
func glm(text string, final bool, tools []Tool) ([]Call, int, verdict) {
	body := strings.TrimLeft(text[len(callOpen):], blank)
	at := strings.IndexAny(body, "<\n")
	if at < 0 {
		if len(body) > mostName {
			return nil, 0, no
		}
		return nil, 0, wait(final)
	}
	tool, ok := find(tools, strings.TrimSpace(body[:at]))
	if !ok {
		return nil, 0, no
	}
	args := arguments{tool: tool}
	rest := body[at:]
	for {
		which, after, v := step(rest, final, keyOpen, callClose)
		behind := afterEnds(rest)
		switch {
		case v == done && which == 1:
			return []Call{{tool.Name, args.text()}}, len(text) - len(after), done
		case v != done && final && behind == "" && args.has():
			return []Call{{tool.Name, args.text()}}, len(text), done // the server took the mark for the end of the answer
		case v == no && !final && beginsEnd(behind) && args.has():
			return nil, 0, more
		case v != done:
			return nil, 0, v
		}
		key, after, found := strings.Cut(after, keyClose)
		if !found {
			return nil, 0, wait(final)
		}
		_, after, v = step(after, final, valueOpen)
		if v != done {
			return nil, 0, v
		}
		value, after, found := strings.Cut(after, valueClose)
		if !found {
			return nil, 0, wait(final)
		}
		if !args.add(strings.TrimSpace(key), value) {
			return nil, 0, no
		}
		rest = after
	}
}
