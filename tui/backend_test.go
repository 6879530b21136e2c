package tui

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"

	"github.com/google/go-cmp/cmp"
)

// serve answers on a socket like the daemon, using one handler for everything.
func serve(t *testing.T, answer http.HandlerFunc) *client.Client {
	t.Helper()
	dir, err := os.MkdirTemp("", "s") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	socket := filepath.Join(dir, "s")
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Skip("no unix sockets: ", err)
	}
	s := &http.Server{Handler: answer}
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	c := client.New(client.Options{Socket: socket})
	t.Cleanup(func() {
		c.Close()
		_ = s.Close()
		<-done
		_ = os.RemoveAll(dir)
	})
	return c
}

func TestHistoryIsOldestFirstFromEitherList(t *testing.T) {
	t.Parallel()
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		list := []api.Message{
			{MessageType: api.MessageUser, ID: "1", Content: api.Text("one")},
			{MessageType: api.MessageUser, ID: "2", Content: api.Text("two")},
		}
		if strings.Contains(r.URL.Path, "/conversations/conv-") { // this list obeys order=desc
			list[0], list[1] = list[1], list[0]
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(list)
	})
	for _, thread := range []Thread{{Agent: "agent-1"}, {Agent: "agent-1", Conversation: "conv-1"}} {
		list, err := daemon{Client: c}.Messages(t.Context(), thread, Span{Limit: 10})
		if err != nil {
			t.Fatal(err)
		}
		var ids []string
		for _, m := range list {
			ids = append(ids, m.ID)
		}
		if diff := cmp.Diff([]string{"1", "2"}, ids); diff != "" {
			t.Errorf("%+v: %s", thread, diff)
		}
	}
}

// TestAPartOfAConversationIsAskedForAsItsListWantsIt covers the cursors of both
// kinds of lists: in one they follow the requested order, in the other they
// don't.
func TestAPartOfAConversationIsAskedForAsItsListWantsIt(t *testing.T) {
	t.Parallel()
	asked := ""
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		asked = r.URL.RawQuery
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte("[]"))
	})
	first, other := Thread{Agent: "agent-1"}, Thread{Agent: "agent-1", Conversation: "conv-1"}
	for _, x := range []struct {
		thread Thread
		span   Span
		want   string
	}{
		{first, Span{Limit: 5}, "limit=5&order=desc"},
		{other, Span{Limit: 5}, "limit=5&order=desc"},
		{first, Span{Before: "m", Limit: 5}, "before=m&limit=5&order=desc"},
		{other, Span{Before: "m", Limit: 5}, "after=m&limit=5&order=desc"},
		{first, Span{After: "m", Limit: 5}, "after=m&limit=5&order=desc"},
		{other, Span{After: "m", Limit: 5}, "after=m&limit=5&order=asc"},
		{first, Span{After: "m", Oldest: true, Limit: 5}, "after=m&limit=5&order=asc"},
		{other, Span{After: "m", Oldest: true, Limit: 5}, "after=m&limit=5&order=asc"},
		{other, Span{Oldest: true, Limit: 5}, "limit=5&order=asc"},
	} {
		if _, err := (daemon{Client: c}).Messages(t.Context(), x.thread, x.span); err != nil || asked != x.want {
			t.Errorf("%+v of %+v: asked %s, want %s (%v)", x.span, x.thread, asked, x.want, err)
		}
	}
}

func TestTheHistorySaysWhatWasRecalledWhereItWas(t *testing.T) {
	t.Parallel()
	notice := func(id, run, text string) api.Message {
		return api.Message{MessageType: api.MessageNotice, ID: id, RunID: run, Notice: &api.Notice{
			Kind: api.NoticeRecalled, Text: text, Data: api.Object{"text": "Recalled from your memory.\n- Odd keeps the light."},
		}}
	}
	said := []api.Message{ // newest first, the order in which a conversation is requested
		{MessageType: api.MessageAssistant, ID: "4", RunID: "run-2", Content: api.Text("Odd.")},
		{MessageType: api.MessageUser, ID: "3", RunID: "run-2", Content: api.Text("Who?")},
		{MessageType: api.MessageUser, ID: "2", RunID: "run-2", Content: api.Text("Tell me.")},
		{MessageType: api.MessageUser, ID: "1", RunID: "run-1", Content: api.Text("Hello")},
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		q := r.URL.Query()
		if r.URL.Path != "/loci/v1/conversations/conv-1/recalled" {
			list := slices.Clone(said)
			if want := map[string]string{"": "desc", "0": "asc"}[q.Get("after")]; q.Get("order") != want {
				t.Errorf("asked for %s", r.URL.RawQuery)
			}
			if q.Get("order") == "asc" {
				slices.Reverse(list)
			}
			_ = json.NewEncoder(w).Encode(list)
			return
		}
		if q.Get("after") != "1" || q.Get("limit") != "10" || q.Get("order") != "asc" {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		_ = json.NewEncoder(w).
			Encode([]api.Message{
				notice("n2", "run-2", "recalled 1 memory"), notice("n1", "run-1", "recalled 2 memories"),
				notice("n0", "run-0", "recalled 9 memories"),
			})
	})
	rows := func(after string) (out []string) {
		t.Helper()
		list, err := daemon{
			Client: c,
		}.Messages(
			t.Context(),
			Thread{Agent: "agent-1", Conversation: "conv-1"},
			Span{After: after, Limit: 10},
		)
		if err != nil {
			t.Fatal(err)
		}
		for _, it := range itemsOf(list) {
			out = append(out, it.ID+it.Head)
		}
		return out
	}
	for _, after := range []string{"", "0"} {
		if diff := cmp.Diff([]string{"1", "recalled 2 memories", "2", "3", "recalled 1 memory", "4"}, rows(after)); diff != "" {
			t.Errorf("after %q: %s", after, diff)
		}
	}
}

func TestACompactionIsAskedOfTheConversation(t *testing.T) {
	t.Parallel()
	var got []string
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		got = append(got, r.Method+" "+r.URL.Path+" "+string(body))
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write([]byte(`{"summary":"tea","num_messages_before":9,"num_messages_after":2}`))
	})
	want := api.Compaction{Summary: "tea", NumMessagesBefore: 9, NumMessagesAfter: 2}
	for _, ask := range []struct {
		thread Thread
		mode   string
	}{{Thread{Agent: "agent-1"}, ""}, {Thread{Agent: "agent-1", Conversation: "conv-1"}, "all"}} {
		if out, err := (daemon{Client: c}).Compact(t.Context(), ask.thread, ask.mode); err != nil || out != want {
			t.Errorf("%+v: %+v, %v", ask, out, err)
		}
	}
	if diff := cmp.Diff([]string{
		"POST /v1/conversations/agent-1/compact {}",
		`POST /v1/conversations/conv-1/compact {"compaction_settings":{"mode":"all"}}`,
	}, got); diff != "" {
		t.Error(diff)
	}
}

func TestAMessageIsSentAndAnsweredInOneStream(t *testing.T) {
	t.Parallel()
	requests := 0
	var got struct {
		Background   bool        `json:"background"`
		StreamTokens bool        `json:"stream_tokens"`
		Model        string      `json:"override_model"`
		Messages     []api.Input `json:"messages"`
		Compaction   bool        `json:"include_compaction_messages"`
	}
	c := serve(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		requests++
		if err := json.NewDecoder(r.Body).Decode(&got); err != nil {
			t.Error(err)
		}
		_, _ = w.Write([]byte("data: {\"message_type\":\"ping\",\"run_id\":\"run-1\"}\n\n" +
			"data: {\"message_type\":\"loci_notice\",\"kind\":\"model\",\"text\":\"moved\",\"run_id\":\"run-1\",\"seq_id\":1}\n\n" +
			"data: {\"message_type\":\"assistant_message\",\"id\":\"m\",\"content\":\"hi\",\"run_id\":\"run-1\"," +
			"\"seq_id\":2}\n\ndata: [DONE]\n\n"))
	})
	var said, notices string
	for m, err := range (daemon{Client: c}).Send(t.Context(), Thread{Agent: "agent-1"}, "hello", "openai/gpt-5", "otid-1") {
		if err != nil {
			t.Fatal(err)
		}
		said += m.Content.String()
		if m.Notice != nil {
			notices += m.Notice.Kind + " " + m.Notice.Text
		}
	}
	if notices != "model moved" || requests != 1 {
		t.Errorf("notices %q in %d requests", notices, requests)
	}
	if said != "hi" || !got.Background || !got.StreamTokens || !got.Compaction || got.Model != "openai/gpt-5" ||
		len(got.Messages) != 1 || got.Messages[0].Content.String() != "hello" || api.Val(got.Messages[0].OTID) != "otid-1" {
		t.Errorf("said %q, sent %+v", said, got)
	}
}
