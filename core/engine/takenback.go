package engine

import (
	"context"

	"loci/core"
	"loci/core/memory"
)

// takenBack bounds how many passages a record tells of, and lookedBack among how many changes they are looked for.
const (
	takenBack  = 5
	lookedBack = 50
)

// tellTakenBack lets what people undid or redid of the agent's archive join the input, where the agent itself wrote or
// changed these passages: the window shows what it did to them. A window that shows nothing yet need not be told.
func (t *turn) tellTakenBack(ctx context.Context) error {
	if t.archive == "" {
		return nil
	}
	passages := t.e.cfg.Store.Passages()
	f := core.PassageChanges{Archive: t.archive, After: t.win.conv.Told, Limit: 1}
	newest, err := passages.Changes(ctx, f)
	if err != nil || len(newest) == 0 {
		return err
	}
	t.win.told = newest[0].Seq
	if len(t.win.rows) == 0 {
		return nil
	}
	f.Restored, f.Limit = t.agent.ID, lookedBack
	changes, err := passages.Changes(ctx, f)
	if err != nil {
		return err
	}
	var last []core.PassageVersion // of each passage
	seen := map[core.PassageID]bool{}
	for i := range changes {
		if c := &changes[i]; !seen[c.Passage] {
			seen[c.Passage] = true
			last = append(last, *c)
		}
	}
	if n := len(last); n > 0 {
		text := memory.TakenBack(last[:min(n, takenBack)], n-takenBack, zoneOf(&t.run, &t.agent))
		t.win.input = append(t.win.input, t.win.hidden(core.HiddenNotice, text))
	}
	return nil
}
