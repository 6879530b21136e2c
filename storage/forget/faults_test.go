package forget

import (
	"testing"

	"loci/core"
)

// TestAStatementThatFailsForgetsNothingByHalf: the text is gone from every place in the facts, or from none.
func TestAStatementThatFailsForgetsNothingByHalf(t *testing.T) {
	t.Parallel()
	for name, query := range map[string]func(d *diary) core.ForgetQuery{
		"text":    func(*diary) core.ForgetQuery { return core.ForgetQuery{Text: "zanzibarowitz", IgnoreCase: true} },
		"message": func(d *diary) core.ForgetQuery { return core.ForgetQuery{Message: d.message} },
		"passage": func(d *diary) core.ForgetQuery { return core.ForgetQuery{Passage: d.whole} },
		"block":   func(d *diary) core.ForgetQuery { return core.ForgetQuery{Block: d.block} },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiary(t)
			d.faults.Every(t, d.s.Store, "trace", func() error { _, err := d.s.Trace(t.Context(), query(d)); return err })
			d.faults.Every(t, d.s.Store, "forget", func() error { _, err := d.s.remove(t.Context(), query(d)); return err })
		})
	}
}
