package engine_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/core"
)

func TestAnEditThatReturnedOnlyTheChangedLinesIsNotAnnounced(t *testing.T) {
	t.Parallel()
	h := open(t, func(_ int, req core.ChatRequest) turn {
		last := req.Messages[len(req.Messages)-1]
		if last.Role == core.ChatUser && strings.Contains(last.Text, "remember") {
			return calling("memory_insert", map[string]any{"label": "human", "new_string": "Likes herons."})
		}
		return say("ok")
	})
	a := h.agent(func(a *core.Agent) { a.Terminal = true })
	edit := func(value string) {
		t.Helper()
		b := h.block(a, "human")
		b.Value = value
		if err := h.store.Blocks().Update(t.Context(), &b, core.Author{Kind: core.AuthorUser}); err != nil {
			t.Fatal(err)
		}
	}
	var long []string
	for i := range 60 {
		long = append(long, fmt.Sprint("A line that says fact number ", i))
	}
	edit(strings.Join(long, "\n"))
	h.send(a, "hello")
	h.send(a, "remember the herons")
	block := h.block(a, "human")
	conv, err := h.store.Conversations().Get(t.Context(), core.DefaultConversation(a.ID))
	if err != nil || conv.Shown[block.ID] != block.Version {
		t.Errorf("the window shows %v of version %d, %v", conv.Shown, block.Version, err)
	}
	h.later(time.Minute)
	h.send(a, "go on")
	reqs := h.model.sent()
	last := reqs[len(reqs)-1]
	if text := sentText(last); strings.Count(text, "+Likes herons.") != 1 || strings.Contains(text, "changed outside of this thread") {
		t.Errorf("the own edit is not shown once:\n%s", text)
	}
	edit(block.Value + "\nA person's line.")
	h.send(a, "and now")
	reqs = h.model.sent()
	if countReminders(reqs[len(reqs)-1], "A person's line.") != 1 {
		t.Error("a person's edit after it is not announced")
	}
}
