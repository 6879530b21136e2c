package service

import (
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"loci/core"
	"loci/storage"
)

// long is a store with one long thread: answers at both ends, and other messages between them.
type long struct {
	core.Store
	core.MessageStore
	between int
}

func (l long) Messages() core.MessageStore { return l }

func (l long) List(ctx context.Context, _ core.MessageFilter, p core.Page) ([]core.Message, error) {
	if err := ctx.Err(); err != nil {
		return nil, core.E(core.Cancelled, "%w", err)
	}
	place := func(cursor string, other int) int {
		if n, err := strconv.Atoi(cursor); err == nil {
			return n
		}
		return other
	}
	from, to := place(p.After, -1)+1, place(p.Before, l.between+3)
	if p.Desc {
		from = max(from, to-p.Limit)
	} else {
		to = min(to, from+p.Limit)
	}
	var out []core.Message
	for n := from; n < to; n++ {
		m := core.Message{ID: core.MessageID(strconv.Itoa(n)), Role: core.RoleUser}
		if n < 2 || n == l.between+2 {
			m.Role = core.RoleAssistant
		}
		out = append(out, m)
	}
	return out, nil
}

func TestAFilteredListFindsItsMessagesWhateverLiesBetween(t *testing.T) {
	t.Parallel()
	s := newServices(t, nil, func(cfg *Config) { cfg.Store = long{Store: cfg.Store, between: 200_000} })
	answers := func(m core.Message) bool { return m.Role == core.RoleAssistant }
	const last = "200002"
	for name, c := range map[string]struct {
		page core.Page
		list func(context.Context, core.MessageFilter, core.Page, func(core.Message) bool) ([]core.Message, error)
		want []string
	}{
		"the newest":                {core.Page{Limit: 1, Desc: true}, s.Messages.Window, []string{last}},
		"those before it":           {core.Page{Limit: 2, Desc: true, Before: last}, s.Messages.Window, []string{"0", "1"}},
		"onward":                    {core.Page{Limit: 2, After: "1"}, s.Messages.Window, []string{last}},
		"the newest first":          {core.Page{Limit: 3, Desc: true}, s.Messages.Ordered, []string{last, "1", "0"}},
		"behind one, newest first":  {core.Page{Limit: 1, Desc: true, After: last}, s.Messages.Ordered, []string{"1"}},
		"nothing is behind the end": {core.Page{Limit: 2, After: last}, s.Messages.Window, nil},
	} {
		msgs, err := c.list(t.Context(), core.MessageFilter{}, c.page, answers)
		var got []string
		for _, m := range msgs {
			got = append(got, string(m.ID))
		}
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v (%v)", name, got, c.want, err)
		}
	}
}

func TestAListIsReadNoFurtherForWhoeverHasLeft(t *testing.T) {
	t.Parallel()
	s := newServices(t, nil, func(cfg *Config) { cfg.Store = long{Store: cfg.Store, between: 200_000} })
	ctx, leave := context.WithCancel(t.Context())
	read := 0
	_, err := s.Messages.Window(ctx, core.MessageFilter{}, core.Page{Limit: 1}, func(core.Message) bool {
		if read++; read == 2 {
			leave()
		}
		return false
	})
	if core.KindOf(err) != core.Cancelled || read > 2*core.MaxPage {
		t.Errorf("%d messages were read: %v", read, err)
	}
}

func TestMessagesAreReadThoughTheirSystemMessageCannotBeStored(t *testing.T) {
	t.Parallel()
	var full, refused atomic.Bool
	s := newServicesOn(t, storage.Config{OnStatement: func(sql string) error {
		if full.Load() && strings.HasPrefix(sql, "UPDATE messages") {
			refused.Store(true)
			return core.E(core.Unavailable, "the disk is full")
		}
		return nil
	}}, reach{"real/one"})
	b, err := s.Blocks.Create(t.Context(), core.Block{Label: "shared", Value: "old"})
	if err != nil {
		t.Fatal(err)
	}
	a, err := s.Agents.Create(t.Context(), NewAgent{BlockIDs: []core.BlockID{b.ID}}, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Blocks.Update(t.Context(), b.ID, BlockPatch{Value: core.Some("new")}, b.Version, ""); err != nil {
		t.Fatal(err)
	}
	list := func() string {
		t.Helper()
		msgs, err := s.Messages.Window(t.Context(), core.MessageFilter{Conversation: core.DefaultConversation(a.ID)}, core.Page{}, nil)
		if err != nil || len(msgs) == 0 {
			t.Fatalf("%d messages, %v", len(msgs), err)
		}
		return msgs[0].PlainText()
	}
	full.Store(true)
	if system := list(); !strings.Contains(system, "old") || !refused.Load() {
		t.Errorf("on a full disk: %s", system)
	}
	full.Store(false)
	if system := list(); !strings.Contains(system, "new") {
		t.Errorf("with room again: %s", system)
	}
}
