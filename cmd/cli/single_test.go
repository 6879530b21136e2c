package cli

import (
	"strings"
	"testing"
	"time"
)

func TestARecordOfAListTakesOneRow(t *testing.T) {
	t.Parallel()
	const agent = "agent-6935cfee-0482-4fa6-93d1-f9f799524af3"
	const run = "run-e09339d4-725f-41d7-a8da-65f127c61faa"
	const passage = "passage-1d876bd6-8659-4f2c-b6f7-ce6b88ddcea2"
	now := time.Date(2026, 11, 23, 12, 0, 0, 0, time.Local)
	agents := table{
		single: true, spare: []string{"LAST RUN"}, head: []string{"NAME", "ID", "MODEL", "LAST RUN"},
		rows: [][]string{
			{"MellowFalcon", agent, "openai/gpt-5.1-mini", "2026-11-22 07:43"},
			{"Ada", agent, "offline/loci", "-"},
		},
	}
	runs := table{
		single: true, spare: []string{"STOP", "TOOK"}, head: []string{"ID", "STATUS", "STOP", "STARTED", "TOOK", "AGENT"},
		rows: [][]string{
			{run, "completed", "end_turn", "2026-11-23 07:43", "14.012s", "MellowFalcon"},
			{run, "cancelled", "cancelled", "2026-11-23 06:57", "27.539s", "Ada"},
		},
	}
	notes := table{
		single: true, spare: []string{"TAGS"}, head: []string{"ID", "WHEN", "TAGS", "TEXT"},
		rows: [][]string{
			{passage, "2025-11-23 07:43", "birds", "A heron stood in the garden of her aunt."},
			{passage, "2026-11-23 07:43", "", "Tea."},
		},
	}
	for _, c := range []struct {
		name  string
		table table
		width int
		want  string
	}{
		{"agents", agents, 80, `
NAME          ID                                          MODEL     LAST RUN
MellowFalcon  ` + agent + `  ….1-mini  22 Nov 07:43
Ada           ` + agent + `  …ne/loci  -
`},
		{"agents, where there is hardly room", agents, 70, `
NAME          ID                                          MODEL
MellowFalcon  ` + agent + `  …pt-5.1-mini
Ada           ` + agent + `  offline/loci
`},
		{"runs", runs, 80, `
ID                                        STATUS     STARTED  TOOK     AGENT
` + run + `  completed  07:43    14.012s  MellowFa…
` + run + `  cancelled  06:57    27.539s  Ada
`},
		{"passages", notes, 80, `
ID                                            WHEN         TEXT
` + passage + `  23 Nov 2025  A heron stood in the…
` + passage + `  07:43        Tea.
`},
		{"everything, where there is room", runs, 200, `
ID                                        STATUS     STOP       STARTED           TOOK     AGENT
` + run + `  completed  end_turn   2026-11-23 07:43  14.012s  MellowFalcon
` + run + `  cancelled  cancelled  2026-11-23 06:57  27.539s  Ada
`},
		{"everything, in a pipe", notes, 0, `
ID                                            WHEN              TAGS   TEXT
` + passage + `  2025-11-23 07:43  birds  A heron stood in the garden of her aunt.
` + passage + `  2026-11-23 07:43         Tea.
`},
		{"in two rows, where one cannot hold the ids", runs, 48, `
ID
    STATUS     STOP       STARTED
    TOOK     AGENT
` + run + `
    completed  end_turn   2026-11-23 07:43
    14.012s  MellowFalcon
` + run + `
    cancelled  cancelled  2026-11-23 06:57
    27.539s  Ada
`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			var b strings.Builder
			if err := c.table.writeAt(&b, c.width, now); err != nil || "\n"+b.String() != c.want {
				t.Errorf("%v\n%s\nwant%s", err, b.String(), c.want)
			}
		})
	}
}
