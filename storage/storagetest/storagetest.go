// Package storagetest holds what tests need of storage: a store on a temporary folder, and the suite that every
// implementation of core.Store has to pass.
package storagetest

import (
	"testing"

	"loci/core"
	"loci/core/finder"
	"loci/storage"
)

// OpenTest opens a store in a temporary folder and closes it with the test.
func OpenTest(tb testing.TB) *storage.Store {
	tb.Helper()
	s, err := storage.Open(tb.Context(), storage.Config{Dir: tb.TempDir()})
	if err != nil {
		tb.Fatalf("open store: %v", err)
	}
	tb.Cleanup(func() {
		if err := s.Close(); err != nil {
			tb.Errorf("close store: %v", err)
		}
	})
	return s
}

// Agent stores an agent with tools, and its default conversation.
func Agent(tb testing.TB, store core.Store, tools ...core.ToolID) core.Agent {
	tb.Helper()
	a := core.Agent{ID: core.NewAgentID(), Name: "Ada", Type: core.AgentLettaV1, Model: "a/b", Timezone: "UTC", Tools: tools}
	if err := store.Agents().Create(tb.Context(), &a); err != nil {
		tb.Fatal(err)
	}
	conv := core.Conversation{ID: core.DefaultConversation(a.ID), Agent: a.ID}
	if err := store.Conversations().Create(tb.Context(), &conv); err != nil {
		tb.Fatal(err)
	}
	return a
}

// Search returns what finds texts in a store, by words alone.
func Search(s finder.Store) *finder.Finder { return finder.New(finder.Config{Store: s}) }
