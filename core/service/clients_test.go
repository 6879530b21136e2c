package service

import (
	"testing"

	"loci/core"
)

func TestAThousandScriptsAnHourKeepNobodyOut(t *testing.T) {
	t.Parallel()
	s := newServices(t, nil)
	working, err := s.Clients.Register(NewClient{Kind: core.ClientChat})
	if err != nil {
		t.Fatal(err)
	}
	s.Clients.busy = func() map[core.ClientID]bool { return map[core.ClientID]bool{working.ID: true} }
	idle, err := s.Clients.Register(NewClient{Kind: core.ClientChat})
	if err != nil {
		t.Fatal(err)
	}
	for i := range 2 * maxSessions {
		if _, err := s.Clients.Register(NewClient{Kind: core.ClientScript, Variables: map[string]string{"OPENAI_API_KEY": "sk"}}); err != nil {
			t.Fatalf("client %d: %v", i, err)
		}
	}
	if n := s.Clients.Count(); n != maxSessions {
		t.Errorf("%d sessions live", n)
	}
	if _, ok := s.Clients.Find(working.ID); !ok {
		t.Error("a session with a run under way gave way")
	}
	if _, err := s.Clients.Get(idle.ID); core.KindOf(err) != core.Precondition {
		t.Errorf("the session that gave way is told %v", err)
	}
}
