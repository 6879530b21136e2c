package mcpclient_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/coretest"
	"loci/tools/mcpclient"
)

// shown fails where a text could act on a terminal.
func shown(t *testing.T, text string) {
	t.Helper()
	if strings.ContainsFunc(text, func(r rune) bool { return r < ' ' && r != '\n' && r != '\t' || r == 0x7f || r == '\u202e' }) {
		t.Errorf("%q holds an escape", text)
	}
}

func TestAServerThatCannotBeUsedSaysWhy(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string][]string{
		"dead":   {"ended with the code 3", "no such option"},
		"deaf":   {"did not answer within 1s", "I was started"},
		"unread": {"did not answer within 1s"},
		"noise":  {"the server noise"},
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := open(t, quick)
			_, err := b.List(t.Context(), program(t, kind))
			if err == nil {
				t.Fatal("it can be used")
			}
			shown(t, err.Error())
			for _, part := range want {
				if !strings.Contains(err.Error(), part) {
					t.Errorf("%q is not in %q", part, err)
				}
			}
			coretest.Until(t, "nothing of it is left", func() bool { return b.Running() == 0 })
		})
	}
}

func TestACallThatBreaksOffIsNeverGuessedAbout(t *testing.T) {
	t.Parallel()
	for kind, want := range map[string]string{
		"hangs": "did not answer within 1s", "dies": "ended with the code 7 while the call ran", "chatters": "and was ended",
		"pings": "and was ended", "huge": "while the call ran", "garbage": "while the call ran",
	} {
		t.Run(kind, func(t *testing.T) {
			t.Parallel()
			b := open(t, func(cfg *mcpclient.Config) {
				cfg.Times.Call = time.Minute
				if kind == "hangs" {
					cfg.Times.Call = time.Second
				}
			})
			to := program(t, kind)
			_, err := b.call(to, "act", nil)
			if err == nil || !strings.Contains(err.Error(), want) || !strings.Contains(err.Error(), "may or may not have") {
				t.Errorf("%v", err)
			}
			if kind == "dies" && !strings.Contains(err.Error(), "It wrote: out of cheese") {
				t.Errorf("%v", err)
			}
			coretest.Until(t, "it is ended", func() bool { return b.Running() == 0 })
			if len(b.list(to).Offers) != 1 {
				t.Error("it does not start again")
			}
		})
	}
}

func TestACallThatIsCancelledEndsAtOnce(t *testing.T) {
	t.Parallel()
	b := open(t)
	to := program(t, "hangs")
	hash := b.hash(to, "act")
	ctx, cancel := context.WithCancelCause(t.Context())
	stop := core.E(core.Cancelled, "the person stopped it")
	time.AfterFunc(50*time.Millisecond, func() { cancel(stop) }) // at whatever moment
	began := time.Now()
	_, err := b.Call(ctx, to, core.MCPCall{Remote: "act", Hash: hash})
	if !errors.Is(err, stop) || time.Since(began) > 10*time.Second {
		t.Errorf("%v after %s", err, time.Since(began))
	}
}

func TestWhatAServerReturnsIsBoundedAndMarked(t *testing.T) {
	t.Parallel()
	b := open(t)
	long := b.said(program(t, "megabytes"), "act", nil)
	if n := len([]rune(long)); n > 50_000 || !strings.Contains(long, "</foreign>\n(its text is cut") {
		t.Errorf("%d characters", n)
	}
	shown(t, long)
	posing := b.said(program(t, "poses"), "act", nil)
	if strings.Count(posing, "<foreign") != 1 || strings.Count(posing, "</foreign>") != 1 {
		t.Errorf("%q ends its mark", posing)
	}
	if r, err := b.call(program(t, "lies"), "act", nil); err == nil && !r.IsError {
		t.Errorf("%+v: what is no result counts as one", r)
	}
}

func TestAListIsBounded(t *testing.T) {
	t.Parallel()
	b := open(t)
	if l := b.list(program(t, "many")); len(l.Offers) != core.MaxMCPTools || len(l.Left) != 1 {
		t.Errorf("%d tools, left out: %v", len(l.Offers), l.Left)
	}
	if l := b.list(program(t, "pages")); len(l.Offers) != 1 {
		t.Errorf("%d tools of endless pages", len(l.Offers))
	}
	l := b.list(program(t, "names"))
	if len(l.Offers) != 5 || len(l.Left) != 3 {
		t.Errorf("%d tools, left out: %q", len(l.Offers), l.Left)
	}
	for _, o := range l.Offers {
		shown(t, o.Description)
	}
	for _, left := range l.Left {
		shown(t, left)
	}
}

func TestAToolIsOnlyCalledAsWhatTheCallerKnows(t *testing.T) {
	t.Parallel()
	b := open(t)
	to := program(t, "changing")
	known := b.hash(to, "act")
	call := func(hash string) (core.ToolResult, error) {
		return b.Call(t.Context(), to, core.MCPCall{Remote: "act", Hash: hash})
	}
	if r, err := call(known); err != nil || !strings.Contains(r.Text, "call 1") {
		t.Fatalf("%v %+v", err, r)
	}
	var now string
	coretest.Until(t, "the new list is told", func() bool { // the server tells of it in its own time
		if _, err := call("none"); core.KindOf(err) != core.Conflict {
			t.Errorf("%v", err)
		}
		b.mu.Lock()
		defer b.mu.Unlock()
		for _, l := range b.listed {
			for _, o := range l.Offers {
				if strings.HasPrefix(o.Description, "Send all secrets") {
					now = o.Hash
				}
			}
		}
		return now != ""
	})
	if _, err := call(known); core.KindOf(err) != core.Conflict || !strings.Contains(err.Error(), "otherwise than a person accepted") {
		t.Errorf("%v", err)
	}
	if r, err := call(now); err != nil || !strings.Contains(r.Text, "call 2") {
		t.Errorf("%v %+v: calls that were refused ran", err, r)
	}
	if _, err := b.Call(t.Context(), to, core.MCPCall{Remote: "none"}); core.KindOf(err) != core.Gone {
		t.Errorf("%v", err)
	}
}

func TestAWebsiteThatFloodsOrHangsIsLeft(t *testing.T) {
	t.Parallel()
	endless := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"jsonrpc":"2.0","x":"`))
		for r.Context().Err() == nil {
			if _, err := w.Write([]byte(strings.Repeat("x", 1<<16))); err != nil {
				return
			}
		}
	})
	hanging := http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	for name, handler := range map[string]http.Handler{"endless": endless, "hanging": hanging} {
		b := open(t, quick)
		if _, err := b.List(t.Context(), website(t, handler, "/", core.MCPHTTP)); err == nil {
			t.Errorf("%s: it can be used", name)
		}
		coretest.Until(t, "nothing of it is left", func() bool { return b.Running() == 0 })
	}
}
