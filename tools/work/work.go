// Package work holds the built-in tools by which an agent works with a person: todo, the list that it works by, and ask, a
// question to them.
//
// Promises: neither reads or changes anything; a list is part of the conversation, so that a restart, a rewind and a fork find
// the one that was current; a question is answered by a person or not at all.
//
// Layer 1, below tools: it imports core.
package work

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// TodoDoc tells a model what todo does.
const TodoDoc = "Keep the list of what you do, for work of three steps or more: the person sees it. Each call gives the whole list; " +
	"one item at a time is in_progress, and what is done is marked at once."

// TodoArgs are the arguments of todo.
type TodoArgs struct {
	Todos []Todo `json:"todos" jsonschema:"All items, in order."`
}

// Todo is one item.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status" jsonschema:"pending, in_progress or completed."`
}

// Bounds of a list and of a question.
const (
	mostTodos   = 100
	mostContent = 500 // characters
	mostOptions = 9   // each has a digit
	mostAsked   = 2000
)

// marks are how items are shown, by status.
var marks = map[string]string{"pending": "[ ]", "in_progress": "[>]", "completed": "[x]"} //nolint:gochecknoglobals // a table

// SetTodos is the tool todo.
func SetTodos(_ context.Context, args TodoArgs, _ core.ToolEnv) (core.ToolResult, error) {
	if len(args.Todos) > mostTodos {
		return core.ToolResult{}, core.E(core.Invalid, "a list has at most %d items", mostTodos)
	}
	done := 0
	lines := make([]string, 0, len(args.Todos))
	for i, t := range args.Todos {
		content := strings.Join(strings.Fields(t.Content), " ")
		mark, known := marks[t.Status]
		switch {
		case content == "" || utf8.RuneCountInString(content) > mostContent:
			return core.ToolResult{}, core.E(core.Invalid, "item %d has no content, or more than %d characters", i+1, mostContent)
		case !known:
			return core.ToolResult{}, core.E(core.Invalid, "the status of item %d is %q; it can be pending, in_progress or completed",
				i+1, core.SourceName(t.Status))
		case t.Status == "completed":
			done++
		}
		lines = append(lines, mark+" "+content)
	}
	if len(lines) == 0 {
		return core.ToolResult{Text: "The list is empty."}, nil
	}
	return core.ToolResult{Text: fmt.Sprintf("%d of %d done\n%s", done, len(lines), strings.Join(lines, "\n"))}, nil
}

// AskDoc tells a model what ask does.
const AskDoc = "Ask the person one question and wait for the answer, where it decides what you do next and you can't find it out."

// AskArgs are the arguments of ask.
type AskArgs struct {
	Question string   `json:"question" jsonschema:"The question, whole."`
	Options  []Option `json:"options,omitempty" jsonschema:"2 to 9 answers to choose from, the best first; the person may give another."`
	Multiple bool     `json:"multiple,omitempty" jsonschema:"Several may be chosen."`
}

// Option is an answer to choose.
type Option struct {
	Label       string `json:"label"`
	Description string `json:"description,omitempty"`
}

// Ask is the tool ask, where nobody has answered: an answer takes the place of the call.
func Ask(_ context.Context, args AskArgs, env core.ToolEnv) (core.ToolResult, error) {
	switch {
	case strings.TrimSpace(args.Question) == "":
		return core.ToolResult{}, core.E(core.Invalid, "question is empty")
	case utf8.RuneCountInString(args.Question) > mostAsked:
		return core.ToolResult{}, core.E(core.Invalid, "a question has at most %d characters", mostAsked)
	case len(args.Options) > mostOptions:
		return core.ToolResult{}, core.E(core.Invalid, "a question has at most %d options", mostOptions)
	case slices.ContainsFunc(args.Options, func(o Option) bool { return strings.TrimSpace(o.Label) == "" }):
		return core.ToolResult{}, core.E(core.Invalid, "an option has no label")
	case env.Client.Unattended:
		return core.ToolError("Nobody is there to be asked. Choose yourself, and say what you took for granted."), nil
	}
	return core.ToolResult{Text: "The person leaves it to you: choose yourself, and say what you chose."}, nil
}
