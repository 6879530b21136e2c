package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
)

// askTool is the tool by which an agent asks the person.
const askTool = "ask"

// Ask is what an agent asks the person. Its texts show what could not be seen.
type Ask struct {
	Question string
	Options  []Option
	Multiple bool // several may be chosen
}

// Option is an answer to choose.
type Option struct{ Label, Description string }

// mostOptions is how many options have a digit.
const mostOptions = 9

// AskOf reads a call of ask. One that has more in it than a question with options is shown as any other call.
func AskOf(name, arguments string) (Ask, bool) {
	args, ok := parseObject(arguments)
	if !ok || name != askTool {
		return Ask{}, false
	}
	return askIn(&args)
}

func askIn(args *object) (Ask, bool) {
	question, ok := args.text("question")
	multiple, okMultiple := args.yes("multiple")
	a := Ask{Question: strings.TrimSpace(Reveal(question)), Multiple: multiple}
	var options []json.RawMessage
	if raw, there := args.values["options"]; there {
		ok = ok && json.Unmarshal(raw, &options) == nil
		args.used["options"] = true
	}
	for _, raw := range options {
		o, isObject := parseObject(string(raw))
		label, isText := o.text("label")
		description, _ := o.text("description")
		if !isObject || !isText || strings.TrimSpace(label) == "" || len(o.left()) > 0 {
			return Ask{}, false
		}
		a.Options = append(a.Options, Option{OneLine(Reveal(label)), OneLine(Reveal(description))})
	}
	return a, ok && okMultiple && a.Question != "" && len(options) <= mostOptions && len(args.left()) == 0
}

func askDeed(args *object, _ string) (Deed, bool) {
	a, ok := askIn(args)
	return Deed{What: "you a question", ask: &a}, ok
}

// rows draws a question with its options, nothing cut.
func (a *Ask) rows(r *Renderer) []string {
	if a == nil {
		return nil
	}
	rows := indented(strings.Split(wrap(a.Question, max(r.Width-2, 2)), "\n"), 2)
	for i, o := range a.Options {
		text := fmt.Sprintf("%d %s", i+1, o.Label)
		if o.Description != "" {
			text += dot + o.Description
		}
		rows = append(rows, strings.Split("  "+hang(wrap(text, max(r.Width-4, 2)), 4), "\n")...)
	}
	return rows
}

func indented(rows []string, columns int) []string {
	for i, row := range rows {
		rows[i] = strings.TrimRight(strings.Repeat(" ", columns)+row, " ")
	}
	return rows
}

// answered is what a person said to a question, as its return has it.
func answered(ret string) string {
	if said, ok := strings.CutPrefix(ret, "The person answered: "); ok {
		return said
	}
	if strings.HasPrefix(ret, "The person leaves it to you") {
		return "you leave it to the agent"
	}
	return "no answer"
}

// askBelow is all of the question, which the row above it may have cut, and the answer.
func askBelow(r *Renderer, args fields, ret string) []string {
	question := strings.TrimSpace(Reveal(args.get("question")))
	var rows []string
	if all := strings.Split(wrap(question, max(min(r.Width, readable)-2, 2)), "\n"); len(all) > 1 {
		rows = indented(all, 2)
	}
	said := strings.Split(wrap(strings.TrimSpace(Reveal(answered(ret))), max(min(r.Width, readable)-4, 2)), "\n")
	for i, row := range said {
		if said[i] = "    " + row; i == 0 {
			said[i] = "  " + r.Theme.Accent.Render("→") + " " + row
		}
	}
	return append(rows, said...)
}

// asksWhat is a question that fits its row; a longer one stands below it.
func asksWhat(r *Renderer, args fields) string {
	question := strings.TrimSpace(Reveal(args.get("question")))
	if len(strings.Split(wrap(question, max(min(r.Width, readable)-2, 2)), "\n")) > 1 {
		return ""
	}
	return OneLine(question)
}
