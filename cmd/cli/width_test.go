package cli

import (
	"strings"
	"testing"
	"time"
)

func TestATableFitsTheTerminal(t *testing.T) {
	t.Parallel()
	const id = "agent-6935cfee-0482-4fa6-93d1-f9f799524af3"
	const long = "Ada told of a heron that stood in the garden of her aunt, and of the tea that they had there before the rain came."
	for _, c := range []struct {
		name  string
		width int
		rows  [][]string
		want  string
	}{
		{"nothing is cut in a pipe", 0, [][]string{{"ID", "TEXT", "WHY"}, {id, long, "says: heron"}}, `
ID                                          TEXT` + strings.Repeat(" ", len(long)-2) + `WHY
` + id + "  " + long + `  says: heron
`},
		{"a last text is cut", 80, [][]string{{"WHEN", "WHO", "TEXT"}, {"2026-11-23", "you", long}}, `
WHEN        WHO  TEXT
2026-11-23  you  Ada told of a heron that stood in the garden of her aunt, and …
`},
		{"or stands below", 80, [][]string{
			{"ID", "WHEN", "WHY", "TEXT"}, {id, "2026-11-23 02:08", "says: heron, garden, tea and rain", long},
		}, `
ID                                          WHEN              WHY
    TEXT
` + id + `  2026-11-23 02:08  says: heron, gard…
    Ada told of a heron that stood in the garden of her aunt, and of the tea
    that they had there before the rain came.
`},
		{
			"a value is wrapped at words", 40,
			[][]string{{"AGENT", "Ada"}, {"tools", "memory_insert, memory_replace, archival_memory_insert"}},
			`
AGENT
    Ada
tools
    memory_insert, memory_replace,
    archival_memory_insert
`,
		},
		{"beside its name where there is room", 60, [][]string{
			{"AGENT", "Ada"}, {"tools", "memory_insert, memory_replace, archival_memory_insert"},
		}, `
AGENT  Ada
tools  memory_insert, memory_replace, archival_memory_insert
`},
		{
			"what can't be cut is folded", 80,
			[][]string{{"ID", "STATUS", "STARTED", "AGENT"}, {"run-1", "completed", "2026-11-23 02:08", id + id[:10]}},
			`
ID     STATUS     STARTED
    AGENT
run-1  completed  2026-11-23 02:08
    ` + id + id[:10] + `
`,
		},
		{"what is folded has its whole width again", 40, [][]string{{"ID", "WHY", "TEXT"}, {id, "says: heron, garden", "tea"}}, `
ID
    WHY
    TEXT
` + id + `
    says: heron, garden
    tea
`},
		{"nothing stands for what is empty", 20, [][]string{{"ID", "A", "TEXT"}, {"1", "", "b"}, {"1", "a", ""}}, `
ID  A  TEXT
1      b
1   a
`},
		{"nor a row for what would be folded", 40, [][]string{
			{"VERSION", "WHEN", "BY", "BRINGS BACK", "TEXT"},
			{"1", "2026-11-23 02:08", "a person", "", "tea"},
			{"2", "2026-11-23 02:09", "", "1", ""},
		}, `
VERSION  WHEN              BY
    BRINGS BACK
    TEXT
1        2026-11-23 02:08  a person
    tea
2        2026-11-23 02:09
    1
`},
		{"wide characters count twice", 50, [][]string{{"ID", "WHEN", "TEXT"}, {"a", "b", strings.Repeat("漢", 40)}}, `
ID  WHEN  TEXT
a   b     ` + strings.Repeat("漢", 19) + `…
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			tbl := table{head: c.rows[0], rows: c.rows[1:]}
			if err := tbl.writeAt(&b, c.width, time.Time{}); err != nil || "\n"+b.String() != c.want {
				t.Errorf("%v\n%s\nwant%s", err, b.String(), c.want)
			}
		})
	}
}

func TestProseIsWrappedAtWords(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text  string
		width int
		want  string
	}{
		{"loci: one two three", 0, "loci: one two three"},
		{"loci: one two three", 14, "loci: one two\n  three"},
		{"a line\n  and another", 8, "a line\n  and\n  another"},
		{"loci: 私の名前はアダです。東京に住んでいます", 20, "loci: 私の名前はアダ\n  です。東京に住んで\n  います"},
		{"loci: /a/path/longer/than/the/row it is", 20, "loci:\n  /a/path/longer/than/the/row\n  it is"},
	} {
		if got := filled(c.text, c.width, 2); got != c.want {
			t.Errorf("%q at %d: %q, want %q", c.text, c.width, got, c.want)
		}
	}
	const page = "Flags:\n  -h, --help   what it says about this and that\n  plain prose that goes on and on, and on"
	const want = "Flags:\n  -h, --help   what it says about this\n               and that\n  plain prose that goes on and on, and\n  on"
	if got := filledHelp(page, 40); got != want {
		t.Errorf("help: %q", got)
	}
	const rest = "\n\nAnother one\n\n  loci       kept\n  loci help  as it is\n\nUsage:\nx"
	const broken = "A paragraph that is broken where its author's\nlines end." + rest
	const flows = "A paragraph that is broken where its\nauthor's lines end." + rest
	if got := filledHelp(broken, 40); got != flows {
		t.Errorf("paragraphs: %q", got)
	}
}
