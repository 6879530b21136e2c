package client

import (
	"encoding/json"
	"errors"
	"iter"
	"net/http"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/daemon/api"
)

// said is what a stream gave, briefly, and the error it ended with.
func said(seq iter.Seq2[api.Message, error]) (out []string, err error) {
	for m, e := range seq {
		if e != nil {
			return out, e
		}
		word := string(m.MessageType)
		if m.MessageType == api.MessageAssistant {
			word = m.Content.String()
		}
		if m.MessageType == api.MessageNotice {
			word = m.Notice.Kind
		}
		out = append(out, word)
	}
	return out, nil
}

func hello() api.StreamingRequest {
	return api.StreamingRequest{Request: api.Request{Messages: []api.Input{api.UserInput("hello", "otid-1")}}}
}

func TestAStreamIsAskedForInTheBackgroundAndGivesWhatComes(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/conversations/{id}/messages", func(w http.ResponseWriter, r *http.Request) {
		var in api.ConversationRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		if !api.Val(in.Background) || !api.Val(in.StreamTokens) || !api.Val(in.Streaming) || api.Val(in.AgentID) != "agent-1" ||
			len(in.Messages) != 2 || api.Val(in.Messages[0].OTID) != "otid-1" || api.Val(in.Messages[1].OTID) == "" {
			t.Errorf("asked for %+v", in)
		}
		raw(w, ": a comment\n\n")
		raw(w, `data: {"message_type":"hologram","seq_id":1,"run_id":"run-1"}`+"\r\n\r\n")
		event(w, text(2, "hi"))
		raw(w, "event: error\n"+`data: {"message_type":"error_message","run_id":"run-1","error_type":"llm_error","message":"no"}`+"\n\n")
		event(w, stop(3))
		event(w, usage(4))
		raw(w, "data: [DONE]\n\n")
	})
	c := clientOf(t, mux)
	req := hello()
	req.Input = &api.Content{Text: "and more"}
	got, err := said(c.Stream(t.Context(), Target{AgentID: "agent-1", ConversationID: api.DefaultConversation}, req))
	want := []string{"hologram", "hi", "error_message", "stop_reason", "usage_statistics"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

func TestAStreamThatBreaksGoesOnWhereItWas(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("POST /v1/agents/{id}/messages", func(w http.ResponseWriter, _ *http.Request) {
		event(w, text(1, "a"))
		event(w, text(2, "b"))
		raw(w, `data: {"message_type":"assi`) // cut within an event
		panic(http.ErrAbortHandler)
	})
	var asked []string
	var mu sync.Mutex
	mux.HandleFunc("GET /loci/v1/runs/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		asked = append(asked, r.PathValue("id")+"?"+r.URL.RawQuery)
		if len(asked) == 1 {
			event(w, text(2, "b")) // seen already
			event(w, text(3, "c"))
			return // cut between events
		}
		event(w, api.Message{MessageType: api.MessagePing, RunID: "run-1", SeqID: 3})
		event(w, text(4, "d"))
		event(w, stop(5))
		event(w, usage(6)) // the end mark never comes
	})
	got, err := said(clientOf(t, mux).Stream(t.Context(), Target{AgentID: "agent-1"}, hello()))
	want := []string{"a", "b", "broken", "c", "broken", "ping", "d", "stop_reason", "usage_statistics"}
	if diff := cmp.Diff(want, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if diff := cmp.Diff([]string{"run-1?after=2", "run-1?after=3"}, asked); diff != "" {
		t.Error(diff)
	}
}

func TestAStreamThatBreaksBeforeItsRunIsKnownIsSentAgainWithTheSameOTIDs(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	var bodies []api.StreamingRequest
	var mu sync.Mutex
	mux.HandleFunc("POST /v1/agents/{id}/messages", func(w http.ResponseWriter, r *http.Request) {
		var in api.StreamingRequest
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
			t.Error(err)
		}
		mu.Lock()
		defer mu.Unlock()
		bodies = append(bodies, in)
		if len(bodies) == 1 {
			panic(http.ErrAbortHandler)
		}
		event(w, text(1, "hi"))
		raw(w, "data: [DONE]\n\n")
	})
	req := api.StreamingRequest{Request: api.Request{Input: &api.Content{Text: "hello"}}}
	got, err := said(clientOf(t, mux).Stream(t.Context(), Target{AgentID: "agent-1"}, req))
	if diff := cmp.Diff([]string{"broken", "hi"}, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
	mu.Lock()
	defer mu.Unlock()
	if len(bodies) != 2 {
		t.Fatalf("sent %d times", len(bodies))
	}
	if diff := cmp.Diff(bodies[0], bodies[1]); diff != "" || bodies[0].Messages[0].OTID == nil {
		t.Errorf("the second is another request: %s", diff)
	}
}

func TestAStreamEndsAtAnAnswerThatSaysNo(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	var asked atomic.Int32
	mux.HandleFunc("GET /loci/v1/runs/{id}/events", func(w http.ResponseWriter, _ *http.Request) {
		asked.Add(1)
		w.WriteHeader(http.StatusGone)
	})
	if _, err := said(clientOf(t, mux).Events(t.Context(), "run-1", 0)); KindOf(err) != api.KindGone || asked.Load() != 1 {
		t.Errorf("%v after asking %d times", err, asked.Load())
	}
}

func TestWithNobodyListeningAStreamFailsAtOnce(t *testing.T) {
	t.Parallel()
	got, err := said(New(Options{Socket: socketIn(t)}).Stream(t.Context(), Target{AgentID: "agent-1"}, hello()))
	if KindOf(err) != api.KindUnavailable || len(got) != 0 {
		t.Errorf("%v %v", got, err)
	}
}

func TestLeavingAStreamEarlyClosesIt(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	var left sync.WaitGroup
	left.Add(1)
	mux.HandleFunc("GET /loci/v1/runs/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		defer left.Done()
		event(w, text(1, "a"))
		<-r.Context().Done()
	})
	for m, err := range clientOf(t, mux).Events(t.Context(), "run-1", 0) {
		if err != nil || m.Content.String() != "a" {
			t.Errorf("%+v %v", m, err)
		}
		break
	}
	left.Wait() // the server sees that the reader is gone
}

func TestARunLeftByItsDaemonIsFollowedOnTheNextOne(t *testing.T) {
	t.Parallel()
	socket := socketIn(t)
	first := http.NewServeMux()
	cut := make(chan struct{})
	first.HandleFunc("GET /loci/v1/runs/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		event(w, text(1, "a"))
		close(cut)
		<-r.Context().Done()
	})
	stopFirst := serve(t, socket, first)
	second := http.NewServeMux()
	second.HandleFunc("GET /loci/v1/runs/{id}/events", func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("after") != "1" {
			t.Errorf("asked for %s", r.URL.RawQuery)
		}
		event(w, text(2, "b"))
		raw(w, "data: [DONE]\n\n")
	})
	var swapped sync.WaitGroup
	swapped.Go(func() {
		<-cut
		stopFirst()
		serve(t, socket, second)
	})
	c := New(Options{Socket: socket})
	defer c.Close()
	got, err := said(c.Events(t.Context(), "run-1", 0))
	swapped.Wait()
	if diff := cmp.Diff([]string{"a", "broken", "b"}, got); diff != "" || err != nil {
		t.Errorf("%s %v", diff, err)
	}
}

func TestChangesComeUntilTheConnectionBreaks(t *testing.T) {
	t.Parallel()
	mux := http.NewServeMux()
	mux.HandleFunc("GET "+api.PathChanges, func(w http.ResponseWriter, _ *http.Request) {
		raw(w, `data: {"kind":"agent","id":"agent-1"}`+"\n\n")
	})
	var got []string
	var last error
	for change, err := range clientOf(t, mux).Changes(t.Context()) {
		if err != nil {
			last = err
			continue
		}
		got = append(got, change.ID)
	}
	if diff := cmp.Diff([]string{"agent-1"}, got); diff != "" || !errors.Is(last, errCut) {
		t.Errorf("%s %v", diff, last)
	}
}
