package transcript

import (
	"encoding/json"
	"fmt"
	"strings"
)

// todoTool is the tool by which an agent keeps the list of what it does.
const todoTool = "todo"

// Todos is the list that an agent works by.
type Todos []Todo

// Todo is one item of it.
type Todo struct {
	Content string `json:"content"`
	Status  string `json:"status"`
}

const (
	todoDone  = "completed"
	todoDoing = "in_progress"
)

// TodosOf reads the list that a call of todo has set. One that failed has set none.
func TodosOf(c Call) (Todos, bool) {
	if c.Name != todoTool || !c.Done || c.Failed {
		return nil, false
	}
	var args struct {
		Todos Todos `json:"todos"`
	}
	if json.Unmarshal([]byte(c.Arguments), &args) != nil {
		return nil, false
	}
	return args.Todos, true
}

// Open reports whether anything of the list is left to do.
func (t Todos) Open() bool { return t.done() < len(t) }

func (t Todos) done() (n int) {
	for _, one := range t {
		if one.Status == todoDone {
			n++
		}
	}
	return n
}

// doing is the item being done or, if there is none, the first that is open; none: -1.
func (t Todos) doing() int {
	open := -1
	for i, one := range t {
		switch {
		case one.Status == todoDoing:
			return i
		case one.Status != todoDone && open < 0:
			open = i
		}
	}
	return open
}

// Counts is how much of the list is done.
func (t Todos) Counts() string { return fmt.Sprintf("%d of %d done", t.done(), len(t)) }

// Todos draws a list as a checklist in at most so many rows, around the item being done; 0: all. Done, doing and open differ
// by their marks, not only by colours.
func (r *Renderer) Todos(t Todos, most int) []string {
	th := r.Theme
	var rows []string
	begins := make([]int, len(t)) // row of each item
	for i, one := range t {
		mark, style := "○", th.Plain
		switch one.Status {
		case todoDone:
			mark, style = th.Good.Render("✓"), th.Dim
		case todoDoing:
			mark, style = th.Accent.Render("▸"), th.Strong
		}
		begins[i] = len(rows)
		for n, row := range strings.Split(wrap(OneLine(Reveal(one.Content)), max(min(r.Width, readable)-4, 2)), "\n") {
			head := "    "
			if n == 0 {
				head = "  " + mark + " "
			}
			rows = append(rows, head+style.Render(row))
		}
	}
	if most <= 0 || len(rows) <= most {
		return rows
	}
	from := 0
	if at := t.doing(); at > 0 {
		from = max(0, min(begins[at]-1, len(rows)-most))
	}
	cut := func(n int, where string) string {
		return "  " + th.Dim.Render(fmt.Sprintf("⋮ %d more rows%s", n, where))
	}
	shown := append([]string{}, rows[from:from+most]...)
	if from > 0 {
		shown[0] = cut(from+1, "")
	}
	if left := len(rows) - from - most; left > 0 {
		shown[most-1] = cut(left+1, " (/todo)")
	}
	return shown
}

// TodoRow is the item being done, on a row.
func (r *Renderer) TodoRow(t Todos) string {
	i := t.doing()
	if i < 0 {
		return ""
	}
	return r.row(r.Theme.Accent.Render("▸"), OneLine(Reveal(t[i].Content)), r.Theme.Dim.Render(t.Counts()))
}

// todoRows is how many rows of a list stand in the conversation; /todo shows all.
const todoRows = 12

func todoWhat(r *Renderer, args fields) string {
	t, ok := todosIn(args)
	if !ok || len(t) == 0 {
		return ""
	}
	return r.Theme.Dim.Render(t.Counts())
}

func todosIn(args fields) (t Todos, ok bool) {
	raw, there := args.raw()["todos"]
	return t, there && json.Unmarshal(raw, &t) == nil
}

func todoBelow(r *Renderer, args fields, _ string) []string {
	t, _ := todosIn(args)
	return r.Todos(t, todoRows)
}
