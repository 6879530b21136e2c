package storage_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/providers/embed"
	"loci/storage"
)

// notes are an archive as a new one is: a few short texts about nothing in particular.
var notes = []string{
	"My physician is Dr. Who.", "Our wedding was lovely.", "The sailing race was won by Ann.", "Buy milk and eggs.", "The rent is due on the first.",
	"The server runs on port 8080.", "The wifi password is on the fridge.", "I am allergic to peanuts.", "Her birthday is on 3 March.", "The cat is called Miso.",
}

// small is a store whose archive holds some texts, embedded as a home embeds them.
func small(t *testing.T, texts ...string) *storage.Store {
	t.Helper()
	model := embed.New()
	s, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir(), Embed: func(ctx context.Context, _ core.Handle, text string) ([]float32, error) {
		v, err := model.Embed(ctx, []string{text})
		if err != nil {
			return nil, err
		}
		return v[0], nil
	}})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	now := time.Now()
	archive := core.Archive{ID: core.NewArchiveID(), Name: "a", CreatedAt: now, UpdatedAt: now}
	if err := s.Archives().Create(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	for _, text := range texts {
		p := core.Passage{ID: core.NewPassageID(), Archive: archive.ID, Text: text, CreatedAt: now, UpdatedAt: now}
		if err := s.Passages().Insert(t.Context(), &p); err != nil {
			t.Fatal(err)
		}
	}
	waiting, err := s.Vectors().Waiting(t.Context(), 0, len(texts))
	if err != nil {
		t.Fatal(err)
	}
	done := make([]core.Embedded, len(waiting))
	for i, u := range waiting {
		v, err := model.Embed(t.Context(), []string{u.Text})
		if err != nil {
			t.Fatal(err)
		}
		done[i] = core.Embedded{Unembedded: u, Vector: v[0]}
	}
	if err := s.Vectors().Put(t.Context(), done...); err != nil {
		t.Fatal(err)
	}
	return s
}

func found(t *testing.T, s *storage.Store, query string) []string {
	t.Helper()
	hits, err := s.Passages().Match(t.Context(), core.SearchQuery{Text: query}, core.PassageFilter{})
	if err != nil {
		t.Fatal(err)
	}
	texts := make([]string, len(hits))
	for i, h := range hits {
		texts[i] = h.Passage.Text
	}
	return texts
}

func TestAQueryWithoutWordsIsLookedForAsItStands(t *testing.T) {
	t.Parallel()
	texts := make([]string, 0, 2*110)
	for range cap(texts) / 2 { // more than one page
		texts = append(texts, "Nothing of note.", "Plain.")
	}
	s := small(t, append([]string{"Up 5 % in May, 🎉"}, texts...)...)
	agent := core.Agent{ID: core.NewAgentID(), Name: "a", CreatedAt: time.Now(), UpdatedAt: time.Now()}
	conv := core.Conversation{ID: core.DefaultConversation(agent.ID), Agent: agent.ID}
	for _, err := range []error{s.Agents().Create(t.Context(), &agent), s.Conversations().Create(t.Context(), &conv)} {
		if err != nil {
			t.Fatal(err)
		}
	}
	for _, text := range append([]string{"Up 5 % in May, 🎉"}, texts...) {
		m := core.Message{ID: core.NewMessageID(), Agent: agent.ID, Conversation: conv.ID, Role: core.RoleUser, Content: []core.Content{core.Text(text)}, CreatedAt: time.Now()}
		if err := s.Messages().Insert(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	said := func(query string) []string {
		hits, err := s.Messages().Match(t.Context(), core.SearchQuery{Text: query}, core.MessageFilter{Agent: agent.ID})
		if err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(hits))
		for i, h := range hits {
			texts[i] = strings.TrimSpace(h.Message.Said())
		}
		return texts
	}
	for query, want := range map[string][]string{" % ": {"Up 5 % in May, 🎉"}, "🎉": {"Up 5 % in May, 🎉"}, "*": {}, "☕": {}, "%%": {}} {
		if diff := cmp.Diff(want, found(t, s, query)); diff != "" {
			t.Errorf("passages, %q (-want +got):\n%s", query, diff)
		}
	}
	for query, want := range map[string][]string{"%": {"Up 5 % in May, 🎉"}, "*": {}} {
		if diff := cmp.Diff(want, said(query)); diff != "" {
			t.Errorf("messages, %q (-want +got):\n%s", query, diff)
		}
	}
	if got := found(t, s, " "); len(got) != 10 {
		t.Errorf("an empty query lists %d", len(got))
	}
}

func TestFewTextsAreFoundByMeaningToo(t *testing.T) {
	t.Parallel()
	for n := 1; n <= len(notes); n++ {
		s := small(t, notes[:n]...)
		for i, query := range []string{"doctor", "marriage", "boat race"} {
			if got := found(t, s, query); i < n && (len(got) == 0 || got[0] != notes[i]) {
				t.Errorf("among %d texts %q finds %q", n, query, got)
			}
		}
		for _, query := range []string{"zzyzx", "photosynthesis", "How tall is Mount Everest?", "guitar lessons", "quantum physics", "football"} {
			if got := found(t, s, query); len(got) > 0 {
				t.Errorf("among %d texts %q finds %q", n, query, got)
			}
		}
	}
}
