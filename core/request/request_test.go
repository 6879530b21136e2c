package request

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func row(id, role, text string) core.InContext {
	return core.InContext{Message: core.Message{ID: core.MessageID(id), Role: core.Role(role), Content: []core.Content{core.Text(text)}}}
}

func hidden(id, joins, text string) core.InContext {
	r := row(id, "user", text)
	r.Message.Hidden, r.Message.Joins = core.HiddenRecall, core.MessageID(joins)
	return r
}

// sent words the messages of a request, each as its role and its text.
func sent(rows ...core.InContext) (out []string) {
	p := Parts{Rows: rows}
	for _, m := range p.Request().Messages {
		out = append(out, string(m.Role)+": "+strings.ReplaceAll(m.Text, "\n", "|"))
	}
	return out
}

func TestARecordIsSentInTheMessageThatItJoins(t *testing.T) {
	t.Parallel()
	one, answer, two := row("1", "user", "one"), row("2", "assistant", "yes"), row("3", "user", "two")
	two.Message.Preface = "[noon]"
	short := hidden("h", "3", "A long story.")
	short.Row.CutTo = 6
	long := two
	long.Row.CutTo = 2
	const cut = "|[… %s more characters did not fit here and were left out; the whole is kept]"
	for name, c := range map[string]struct{ rows, want []string }{
		"before the text, behind the preface": {
			sent(one, answer, two, hidden("h", "3", "A."), hidden("i", "3", "B.")),
			[]string{
				"user: one", "assistant: yes",
				"user: [noon]|<system-reminder>|A.|</system-reminder>|<system-reminder>|B.|</system-reminder>|two",
			},
		},
		"whatever stands between": {
			sent(one, row("s", "system", "so"), hidden("h", "1", "A.")),
			[]string{"user: <system-reminder>|A.|</system-reminder>|one", "reminder: so"},
		},
		"an older one keeps its place": {
			sent(one, hidden("h", "", "A."), answer), []string{"user: one", "reminder: A.", "assistant: yes"},
		},
		"without its message it stands alone": {
			sent(answer, hidden("h", "1", "A.")), []string{"assistant: yes", "reminder: A."},
		},
		"only what a person says is joined": {
			sent(one, hidden("h", "", "A."), hidden("i", "h", "B."), hidden("j", "2", "C."), answer),
			[]string{"user: one", "reminder: A.", "reminder: B.", "reminder: C.", "assistant: yes"},
		},
		"cut for itself": {
			sent(one, answer, two, short),
			[]string{
				"user: one", "assistant: yes",
				"user: [noon]|<system-reminder>|A long" + strings.Replace(cut, "%s", "7", 1) + "|</system-reminder>|two",
			},
		},
		"whole where the text is cut": {
			sent(long, hidden("h", "3", "A.")),
			[]string{"user: [noon]|<system-reminder>|A.|</system-reminder>|tw" + strings.Replace(cut, "%s", "1", 1)},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(c.want, c.rows); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
