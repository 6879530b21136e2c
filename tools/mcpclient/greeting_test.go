package mcpclient_test

import (
	"strings"
	"testing"
	"time"

	"loci/tools/mcpclient"
)

func TestOrdinaryServersAreGreetedAsTheyKnowIt(t *testing.T) {
	t.Parallel()
	for _, kind := range []string{"strict", "silent", "stateless", "of 2024-11-05", "of 2025-03-26", "of 2025-11-25"} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := open(t, func(cfg *mcpclient.Config) { cfg.Times.Connect = 5 * time.Second })
			if text := b.said(program(t, kind), "act", nil); !strings.Contains(text, "done") {
				t.Errorf("%q", text)
			}
		})
	}
}

func TestLinesThatAreNoMessagesAreSkipped(t *testing.T) {
	t.Parallel()
	b := open(t, func(cfg *mcpclient.Config) { cfg.Times.Connect = 5 * time.Second })
	to := program(t, "logs")
	for range 2 {
		if text := b.said(to, "act", nil); !strings.Contains(text, "done") {
			t.Errorf("%q", text)
		}
	}
	if _, err := b.List(t.Context(), program(t, "logs without end")); err == nil ||
		!strings.Contains(err.Error(), "its standard output holds no protocol") || !strings.Contains(err.Error(), "tick") {
		t.Errorf("%v", err)
	}
}
