package transcript

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"loci/tui/theme"
)

func TestAQuestionIsReadWithItsOptions(t *testing.T) {
	t.Parallel()
	got, ok := AskOf("ask", `{"question":" Red or\u001b[2J blue?","options":[`+
		`{"label":"Red","description":"like\nbefore"},{"label":"Blue"}],"multiple":true}`)
	want := Ask{`Red or\u001b[2J blue?`, []Option{{"Red", "like before"}, {"Blue", ""}}, true}
	if diff := cmp.Diff(want, got); !ok || diff != "" {
		t.Errorf("%v (-want +got):\n%s", ok, diff)
	}
	for _, odd := range []string{
		`{}`, `{"question":" "}`, `{"question":1}`, `{"question":"a","run":"rm"}`, `{"question":"a","options":["b"]}`,
		`{"question":"a","options":[{"label":""}]}`, `{"question":"a","options":[{"label":"b","do":"c"}]}`,
		`{"question":"a","multiple":null}`,
		`{"question":"a","options":[` + strings.Repeat(`{"label":"b"},`, 9) + `{"label":"b"}]}`,
		`{"question":"a","question":"b"}`, `nonsense`,
	} {
		if a, ok := AskOf("ask", odd); ok {
			t.Errorf("%s is a question: %+v", odd, a)
		}
	}
	if _, ok := AskOf("other", `{"question":"a"}`); ok {
		t.Error("another tool asks")
	}
}

func TestAnAnsweredQuestionIsShownWholeWithItsAnswer(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 40)
	long := "Which of the two colours should the door of the house have from now on?"
	for _, c := range []struct{ question, ret, want string }{
		{"Red or blue?", "The person answered: blue, of course", "? asks Red or blue?\n  → blue, of course"},
		{"Red or blue?", "The person did not answer. Do what needs no answer.", "? asks Red or blue?\n  → no answer"},
		{"Red or blue?", "The person leaves it to you: choose yourself", "? asks Red or blue?\n  → you leave it to the agent"},
		{
			long, "The person answered: red",
			"? asks\n  Which of the two colours should the\n  door of the house have from now on?\n  → red",
		},
	} {
		got := ansi.Strip(r.Tool(Call{Name: "ask", Arguments: `{"question":"` + c.question + `"}`, Return: c.ret, Done: true}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
}

func TestAListOfWhatIsDoneIsAChecklistWithoutColoursToo(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 30)
	c := Call{Name: "todo", Done: true, Return: "1 of 3 done", Arguments: `{"todos":[{"content":"read\u001b[2J it","status":"completed"},` +
		`{"content":"change all of the files that have the old name","status":"in_progress"},{"content":"test it","status":"pending"}]}`}
	want := "▸ plans 1 of 3 done\n  ✓ read\\u001b[2J it\n  ▸ change all of the files\n    that have the old name\n  ○ test it"
	if diff := cmp.Diff(want, ansi.Strip(r.Tool(c))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	list, ok := TodosOf(c)
	if got := ansi.Strip(r.TodoRow(list)); !ok || !strings.HasSuffix(got, "… · 1 of 3 done") {
		t.Errorf("its row is %q", got)
	}
	c.Failed = true
	if _, ok := TodosOf(c); ok {
		t.Error("a call that failed has set a list")
	}
}

func TestALongListIsShownAroundWhatIsBeingDone(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 30)
	var list Todos
	for i := range 20 {
		status := "pending"
		if i < 9 {
			status = todoDone
		}
		list = append(list, Todo{"item " + string(rune('a'+i)), status})
	}
	list[9].Status = todoDoing
	want := "  ⋮ 9 more rows\n  ▸ item j\n  ○ item k\n  ⋮ 9 more rows (/todo)"
	if diff := cmp.Diff(want, ansi.Strip(strings.Join(r.Todos(list, 4), "\n"))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if n := len(r.Todos(list, 0)); n != 20 {
		t.Errorf("%d rows", n)
	}
}
