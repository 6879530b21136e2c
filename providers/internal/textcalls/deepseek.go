package textcalls

import (
	"encoding/json"
	"strings"
)

// Marks of DeepSeek's models; those of the newest begin with dsml.
const (
	deepBegin = "<｜tool▁calls▁begin｜>"
	deepEnd   = "<｜tool▁calls▁end｜>"
	deepOne   = "<｜tool▁call▁begin｜>"
	deepClose = "<｜tool▁call▁end｜>"
	deepSep   = "<｜tool▁sep｜>"

	dsmlBegin  = "<｜DSML｜function_calls>"
	dsmlEnd    = "</｜DSML｜function_calls>"
	dsmlOne    = "<｜DSML｜invoke name="
	dsmlClose  = "</｜DSML｜invoke>"
	dsmlParam  = "<｜DSML｜parameter name="
	dsmlValued = "</｜DSML｜parameter>"
)

func deepSeek(text string, final bool, tools []Tool) ([]Call, int, verdict) {
	if strings.HasPrefix(text, dsmlBegin) {
		return dsml(text, final, tools)
	}
	inList := strings.HasPrefix(text, deepBegin)
	rest := strings.TrimPrefix(text, deepBegin)
	var calls []Call
	for {
		which, after, v := step(rest, final, deepOne, deepEnd)
		switch {
		case v == done && which == 1 && len(calls) > 0:
			return calls, len(text) - len(after), done
		case v == done && which == 0:
		case len(calls) == 0, v == done:
			if v == done {
				v = no
			}
			return nil, 0, v
		case v == more:
			return nil, 0, more
		case !inList || final || strings.TrimLeft(rest, blank) != "":
			return calls, len(text) - len(rest), done // the end mark is missing
		}
		call, after, v := deepCall(after, final, tools)
		if v != done {
			return nil, 0, v
		}
		if calls = append(calls, call); len(calls) > mostCalls {
			return nil, 0, no
		}
		rest = after
	}
}

// deepCall reads a call behind its mark: name, separator and arguments; in older models a type stands first, and the arguments in
// a fence.
func deepCall(text string, final bool, tools []Tool) (call Call, rest string, v verdict) {
	head, body, found := strings.Cut(text, deepSep)
	if !found {
		if len(head) > mostName {
			return Call{}, "", no
		}
		return Call{}, "", wait(final)
	}
	name := strings.TrimSpace(head)
	fenced := false
	if name == "function" {
		const fence = "```json\n"
		line, after, ended := strings.Cut(body, "\n")
		switch {
		case !ended && len(line) > mostName:
			return Call{}, "", no
		case !ended:
			return Call{}, "", wait(final)
		case !strings.HasPrefix(after, fence) && strings.HasPrefix(fence, after):
			return Call{}, "", wait(final)
		case !strings.HasPrefix(after, fence):
			return Call{}, "", no
		}
		name, body, fenced = strings.TrimSpace(line), after[len(fence):], true
	}
	if _, ok := find(tools, name); !ok {
		return Call{}, "", no
	}
	body = strings.TrimLeft(body, blank)
	n, v := value(body)
	if v == more {
		return Call{}, "", wait(final)
	}
	if v == no {
		return Call{}, "", no
	}
	given, ok := mended(body[:n])
	if !ok || given[0] != '{' {
		return Call{}, "", no
	}
	rest = body[n:]
	if fenced {
		if _, rest, v = step(rest, final, "```"); v != done {
			return Call{}, "", v
		}
	}
	m, v := closed(rest, deepClose, final, deepOne, deepEnd)
	if v != done {
		return Call{}, "", v
	}
	return Call{name, string(given)}, rest[m:], done
}

// dsml reads calls in tags. A parameter says whether it is a text.
func dsml(text string, final bool, tools []Tool) ([]Call, int, verdict) {
	rest := text[len(dsmlBegin):]
	var calls []Call
	for {
		which, after, v := step(rest, final, dsmlOne, dsmlEnd)
		switch {
		case v != done:
			return nil, 0, v
		case which == 1 && len(calls) > 0:
			return calls, len(text) - len(after), done
		case which == 1:
			return nil, 0, no
		}
		name, n, v := tagName(after, final, tools)
		if v != done {
			return nil, 0, v
		}
		tool, _ := find(tools, name)
		args, after, v := dsmlParameters(after[n:], final, tool)
		if v != done {
			return nil, 0, v
		}
		if calls = append(calls, Call{name, args.text()}); len(calls) > mostCalls {
			return nil, 0, no
		}
		rest = after
	}
}

func dsmlParameters(text string, final bool, tool Tool) (args *arguments, rest string, v verdict) {
	args = &arguments{tool: tool}
	for {
		which, after, v := step(text, final, dsmlParam, dsmlClose)
		if v != done {
			return nil, "", v
		}
		if which == 1 {
			return args, after, done
		}
		head, body, found := strings.Cut(after, ">")
		if !found {
			if len(head) > mostName {
				return nil, "", no
			}
			return nil, "", wait(final)
		}
		given, after, found := strings.Cut(body, dsmlValued)
		if !found {
			return nil, "", wait(final)
		}
		key, _, whole := quotedText(head)
		value := json.RawMessage(strings.TrimSpace(given))
		if !strings.Contains(head, `string="false"`) || !json.Valid(value) {
			value = encoded(given)
		}
		if !whole || !args.set(key, value) {
			return nil, "", no
		}
		text = after
	}
}
