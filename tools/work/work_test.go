package work

import (
	"strings"
	"testing"

	"loci/core"
)

func TestAListIsShownWithWhatIsDone(t *testing.T) {
	t.Parallel()
	got, err := SetTodos(t.Context(), TodoArgs{Todos: []Todo{
		{"read\nit", "completed"}, {"change it", "in_progress"}, {"test it", "pending"},
	}}, core.ToolEnv{})
	if want := "1 of 3 done\n[x] read it\n[>] change it\n[ ] test it"; err != nil || got.Text != want {
		t.Errorf("%q, %v", got.Text, err)
	}
	if got, err := SetTodos(t.Context(), TodoArgs{}, core.ToolEnv{}); err != nil || got.Text != "The list is empty." {
		t.Errorf("%q, %v", got.Text, err)
	}
	for want, todos := range map[string][]Todo{
		"no content":        {{"a", "pending"}, {" ", "pending"}},
		"500 characters":    {{strings.Repeat("a", 501), "pending"}},
		`"done"`:            {{"a", "done"}},
		"at most 100 items": make([]Todo, 101),
	} {
		_, err := SetTodos(t.Context(), TodoArgs{Todos: todos}, core.ToolEnv{})
		if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestAQuestionThatNobodyAnswersSaysSo(t *testing.T) {
	t.Parallel()
	alone := core.ToolEnv{Client: core.Client{Unattended: true}}
	got, err := Ask(t.Context(), AskArgs{Question: "Red or blue?"}, alone)
	if err != nil || !got.IsError || !strings.Contains(got.Text, "Nobody is there") {
		t.Errorf("%+v, %v", got, err)
	}
	for want, args := range map[string]AskArgs{
		"empty":           {Question: " "},
		"2000 characters": {Question: strings.Repeat("a", 2001)},
		"9 options":       {Question: "a", Options: make([]Option, 10)},
		"no label":        {Question: "a", Options: []Option{{"a", ""}, {"", "b"}}},
	} {
		_, err := Ask(t.Context(), args, alone)
		if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}
