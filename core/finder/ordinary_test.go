package finder_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/core/finder"
	"loci/providers/embed"
	"loci/storage"
)

// notes are an archive as a new one is: a few short texts about nothing in particular.
var notes = []string{
	"My physician is Dr. Who.",
	"Our wedding was lovely.",
	"The sailing race was won by Ann.",
	"Buy milk and eggs.",
	"The rent is due on the first.",
	"The server runs on port 8080.",
	"The wifi password is on the fridge.",
	"I am allergic to peanuts.",
	"Her birthday is on 3 March.",
	"The cat is called Miso.",
}

// library is a store with what finds its texts.
type library struct {
	*storage.Store
	*finder.Finder
}

// small is a store whose archive holds some texts, embedded as a home embeds them.
func small(t *testing.T, texts ...string) *library {
	t.Helper()
	passages := make([]*core.Passage, len(texts))
	for i, text := range texts {
		passages[i] = &core.Passage{Text: text, CreatedAt: time.Now()}
	}
	return archived(t, passages...)
}

// archived is a store with one archive of some passages, embedded as a home embeds them.
func archived(t *testing.T, passages ...*core.Passage) *library {
	t.Helper()
	model := embed.New()
	s, err := storage.Open(t.Context(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	now := time.Now()
	archive := core.Archive{ID: core.NewArchiveID(), Name: "a", CreatedAt: now, UpdatedAt: now}
	if err := s.Archives().Create(t.Context(), &archive); err != nil {
		t.Fatal(err)
	}
	for _, p := range passages {
		p.ID, p.Archive, p.UpdatedAt = core.NewPassageID(), archive.ID, now
	}
	if err := s.Passages().Insert(t.Context(), passages...); err != nil {
		t.Fatal(err)
	}
	waiting, err := s.Vectors().Waiting(t.Context(), 0, len(passages))
	if err != nil {
		t.Fatal(err)
	}
	done := make([]core.EmbeddingResult, len(waiting))
	for i, u := range waiting {
		v, err := model.Embed(t.Context(), []string{u.Text})
		if err != nil {
			t.Fatal(err)
		}
		done[i] = core.EmbeddingResult{EmbeddingTask: u, Vector: v[0]}
	}
	if err := s.Vectors().Put(t.Context(), done...); err != nil {
		t.Fatal(err)
	}
	return newLibrary(s, s, model)
}

// newLibrary searches a store through its views, or through others of it.
func newLibrary(s *storage.Store, views finder.Store, model core.Embedder) *library {
	return &library{
		s,
		finder.New(finder.Config{Store: views, Known: embed.Knows, Common: embed.Common, Related: embed.Related, Embed: func(
			ctx context.Context, _ core.Handle, text string,
		) ([]float32, error) {
			v, err := model.Embed(ctx, []string{text})
			if err != nil {
				return nil, err
			}
			return v[0], nil
		}}),
	}
}

func found(t *testing.T, s *library, query string) []string {
	t.Helper()
	found, err := s.Passages(t.Context(), core.SearchQuery{Text: query}, core.PassageFilter{})
	if err != nil {
		t.Fatal(err)
	}
	return texts(found)
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
		m := core.Message{
			ID:           core.NewMessageID(),
			Agent:        agent.ID,
			Conversation: conv.ID,
			Role:         core.RoleUser,
			Content:      []core.Content{core.Text(text)},
			CreatedAt:    time.Now(),
		}
		if err := s.Store.Messages().Insert(t.Context(), &m); err != nil {
			t.Fatal(err)
		}
	}
	said := func(query string) []string {
		found, err := s.Messages(t.Context(), core.SearchQuery{Text: query}, core.MessageFilter{Agent: agent.ID})
		if err != nil {
			t.Fatal(err)
		}
		texts := make([]string, len(found.Hits))
		for i, h := range found.Hits {
			texts[i] = strings.TrimSpace(h.Message.Said())
		}
		return texts
	}
	for query, want := range map[string][]string{
		" % ": {"Up 5 % in May, 🎉"}, "🎉": {"Up 5 % in May, 🎉"}, "*": {}, "☕": {}, "%%": {},
	} {
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
		for _, query := range []string{
			"zzyzx", "photosynthesis", "How tall is Mount Everest?", "guitar lessons", "quantum physics", "football",
		} {
			if got := found(t, s, query); len(got) > 0 {
				t.Errorf("among %d texts %q finds %q", n, query, got)
			}
		}
	}
}
