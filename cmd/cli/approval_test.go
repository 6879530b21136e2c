package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"

	"loci/daemon/api"
	"loci/daemon/config"

	diff "github.com/google/go-cmp/cmp"
)

// asker is a daemon of which an agent asks for an approval whenever it is told something.
type asker struct {
	mu       sync.Mutex
	waiting  []api.WaitingRequest
	answered []api.AnswerRequest
	cleared  []string
	late     bool // somebody else answers first
}

const askedText = "rm -rf build\x1b[2K\u202e\nls"

func askedRequest() api.WaitingRequest {
	arguments, _ := json.Marshal(map[string]string{"command": askedText}) // a map of strings is always JSON
	return api.WaitingRequest{
		AgentID: "agent-1", AgentName: "Ada", ConversationID: "agent-1", RunID: "run-1", RequestID: "message-1",
		Calls: []api.WaitingCall{
			{ToolCallID: "call-1", Name: "shell\x1b]0;x\a", Arguments: string(arguments), Hash: "h1", Why: "a rule asks"},
			{ToolCallID: "call-2", Name: "mail", Arguments: `{"to":"bob"}`, Hash: "h2", Why: "a rule asks"},
		},
	}
}

func (d *asker) handler() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST "+api.PathClients, func(w http.ResponseWriter, _ *http.Request) {
		_ = json.NewEncoder(w).Encode(api.Session{Client: "client-1", AgentID: "agent-1", ConversationID: "agent-1", AgentName: "Ada"})
	})
	mux.HandleFunc("GET "+api.PathApprovals, func(w http.ResponseWriter, _ *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		_ = json.NewEncoder(w).Encode(api.ApprovalList{Approvals: d.waiting})
	})
	mux.HandleFunc("DELETE "+api.PathApprovals+"/{id}", func(w http.ResponseWriter, r *http.Request) {
		d.mu.Lock()
		defer d.mu.Unlock()
		d.cleared, d.waiting = append(d.cleared, r.PathValue("id")), nil
		_, _ = w.Write([]byte("null"))
	})
	mux.HandleFunc("POST /v1/conversations/{id}/messages", d.told)
	mux.HandleFunc("POST "+api.PathConversations+"/{id}/approvals", d.answer)
	return mux
}

func (d *asker) told(w http.ResponseWriter, _ *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.waiting) > 0 {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(http.StatusConflict)
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Detail: api.PendingApproval{
			Code: api.CodePendingApproval, Message: "Cannot send a new message", PendingRequestID: "message-1",
		}})
		return
	}
	d.waiting = []api.WaitingRequest{askedRequest()}
	stream(w, "run-1", api.Message{MessageType: api.MessageStopReason, StopReason: api.StopRequiresApproval})
}

func (d *asker) answer(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	var in api.AnswerRequest
	_ = json.NewDecoder(r.Body).Decode(&in)
	d.answered, d.waiting = append(d.answered, in), nil
	if d.late {
		w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(w).Encode(api.ErrorBody{Detail: "No tool call is currently awaiting approval."})
		return
	}
	stream(w, "run-2", api.Message{MessageType: api.MessageAssistant, ID: "message-2", Content: api.Text("It is done.")},
		api.Message{MessageType: api.MessageStopReason, StopReason: api.StopEndTurn})
}

func stream(w http.ResponseWriter, run string, messages ...api.Message) {
	w.Header().Set("Content-Type", "text/event-stream")
	messages = append(messages, api.Message{MessageType: api.MessageUsage, Usage: &api.Usage{}})
	for i, m := range messages {
		m.RunID, m.SeqID = run, int64(i+1)
		data, _ := json.Marshal(m) // of our own types
		fmt.Fprintf(w, "data: %s\n\n", data)
	}
	_, _ = io.WriteString(w, "data: [DONE]\n\n")
}

func (d *asker) answers() string {
	d.mu.Lock()
	defer d.mu.Unlock()
	var out []string
	for _, in := range d.answered {
		for _, x := range in.Approvals {
			out = append(out, fmt.Sprintf("%s %t %s %s %s%s",
				x.ToolCallID, *x.Approve, x.RequestID, x.Hash, api.Val(x.Reason), api.Val(x.Arguments)))
		}
	}
	return strings.Join(out, "\n")
}

// typed runs the program with a daemon, and returns its exit code and what it printed.
func (d *asker) typed(t *testing.T, in string, args ...string) (code int, out, said string) {
	t.Helper()
	home := t.TempDir()
	p, err := config.FindPaths(func(name string) (string, bool) { return home, name == "LOCI_HOME" })
	if err != nil {
		t.Fatal(err)
	}
	p.Socket = socketOf(t, d.handler())
	var stdout, stderr bytes.Buffer
	a := &app{in: strings.NewReader(in), out: &stdout, errOut: &stderr, places: &p}
	args = append(args, "--no-daemon-start")
	if err := a.run(t.Context(), args); err != nil {
		code = fail(&stderr, err)
	}
	return code, stdout.String(), stderr.String()
}

func TestWhatWaitsIsListedAndShownWithoutAnythingHidden(t *testing.T) {
	t.Parallel()
	d := &asker{waiting: []api.WaitingRequest{askedRequest()}}
	code, out, _ := d.typed(t, "", "approvals")
	for _, want := range []string{"message-1", "Ada", `shell\u001b]0;x\u0007`, "mail", `{"to":"bob"}`} {
		if code != exitOK || !strings.Contains(out, want) {
			t.Errorf("%d: %q is not in\n%s", code, want, out)
		}
	}
	_, out, _ = d.typed(t, "", "approvals", "show", "message-1")
	want := `
shell\u001b]0;x\u0007  call-1
  command:
    rm -rf build\u001b[2K\u202e
    ls
  (a rule asks)

mail  call-2
  to: bob
  (a rule asks)
`
	if !strings.HasSuffix(out, want) || strings.ContainsAny(out, "\x1b\a\u202e") {
		t.Errorf("%s", diff.Diff(want, out))
	}
	_, out, _ = d.typed(t, "", "approvals", "show", "message-1", "--json")
	var w api.WaitingRequest
	if err := json.Unmarshal([]byte(out), &w); err != nil || w.Calls[0].Arguments != askedRequest().Calls[0].Arguments {
		t.Errorf("%v: %s", err, out)
	}
}

func TestAQuestionOfTheAgentIsShownWithItsOptionsAndHowToAnswer(t *testing.T) {
	t.Parallel()
	w := askedRequest()
	w.Calls = w.Calls[:1]
	w.Calls[0].Name = "ask"
	w.Calls[0].Arguments = `{"question":"Which colour?","options":[{"label":"Blue","description":"as the sky"},{"label":"Re\u001bd"}]}`
	d := &asker{waiting: []api.WaitingRequest{w}}
	_, out, _ := d.typed(t, "", "approvals")
	if !strings.Contains(out, "Which colour?") || strings.Contains(out, "{") {
		t.Errorf("the list: %s", out)
	}
	_, out, _ = d.typed(t, "", "approvals", "show", "message-1")
	want := `
ask  call-1
  Which colour?
    1 Blue · as the sky
    2 Re\u001bd
  (answer with one of these, or in your own words: loci approvals deny message-1 --reason TEXT)
`
	if !strings.HasSuffix(out, want) {
		t.Errorf("%s", diff.Diff(want, out))
	}
	d.waiting[0].Calls[0].Arguments = `{"question":"Which colour?","more":1}` // nothing of it may stay unseen
	if _, out, _ = d.typed(t, "", "approvals", "show", "message-1"); !strings.Contains(out, "more: 1") {
		t.Errorf("a call with more in it:\n%s", out)
	}
}

func TestAnAnswerSaysWhatItAnswersAndPrintsHowItGoesOn(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"approve", "message-1"}, "call-1 true message-1 h1 \ncall-2 true message-1 h2 "},
		{[]string{"approve", "message-1", "--call", "call-2"}, "call-1 false message-1 h1 \ncall-2 true message-1 h2 "},
		{[]string{"deny", "message-1"}, "call-1 false message-1 h1 \ncall-2 false message-1 h2 "},
		{[]string{"deny", "message-1", "--reason", "not now"}, "call-1 false message-1 h1 not now\ncall-2 false message-1 h2 not now"},
	} {
		d := &asker{waiting: []api.WaitingRequest{askedRequest()}}
		code, out, said := d.typed(t, "", append([]string{"approvals"}, tc.args...)...)
		if code != exitOK || out != "It is done.\n" {
			t.Errorf("%v: %d, %q, %q", tc.args, code, out, said)
		}
		if diff := diff.Diff(tc.want, d.answers()); diff != "" {
			t.Errorf("%v (-want +sent):\n%s", tc.args, diff)
		}
	}
}

func TestAnAnswerThatCannotBeGivenSaysWhy(t *testing.T) {
	t.Parallel()
	program := askedRequest()
	program.Calls[1].Client = true
	for _, tc := range []struct {
		name    string
		waiting api.WaitingRequest
		late    bool
		args    []string
		code    int
		said    string
	}{
		{"an unknown request", askedRequest(), false, []string{"approve", "message-9"}, exitNotFound, "nothing waits"},
		{"an unknown call", askedRequest(), false, []string{"approve", "message-1", "--call", "call-9"}, exitNotFound, "call-9"},
		{"a lost race", askedRequest(), true, []string{"approve", "message-1"}, exitConflict, "somebody else has answered it first"},
		{"another program's tool", program, false, []string{"approve", "message-1"}, exitConflict, "mail is run by the program"},
	} {
		d := &asker{waiting: []api.WaitingRequest{tc.waiting}, late: tc.late}
		code, _, said := d.typed(t, "", append([]string{"approvals"}, tc.args...)...)
		if code != tc.code || !strings.Contains(said, tc.said) {
			t.Errorf("%s: %d, %q", tc.name, code, said)
		}
	}
}

func TestClearingNeedsNoModel(t *testing.T) {
	t.Parallel()
	d := &asker{waiting: []api.WaitingRequest{askedRequest()}}
	code, _, said := d.typed(t, "", "approvals", "clear", "message-1")
	if code != exitOK || !slices.Equal(d.cleared, []string{"message-1"}) || d.answers() != "" {
		t.Errorf("%d, %q, cleared %v", code, said, d.cleared)
	}
}

// TestAOneShotSaysWhatWaits covers the run that ends with a request and the message that meets one.
func TestAOneShotSaysWhatWaits(t *testing.T) {
	t.Parallel()
	for _, waiting := range [][]api.WaitingRequest{nil, {askedRequest()}} {
		d := &asker{waiting: waiting}
		code, _, said := d.typed(t, "", "-p", "do it")
		if code != exitConflict || !strings.Contains(said, `Ada waits for a person to approve shell\u001b]0;x\u0007, mail`) ||
			!strings.Contains(said, "try: loci approvals show message-1") {
			t.Errorf("%d, %q", code, said)
		}
		for _, format := range []string{formatJSON, formatStream} {
			d := &asker{waiting: waiting}
			_, out, _ := d.typed(t, "", "-p", "do it", "--output-format", format)
			r := lastResult(t, out)
			if r.Approval == nil || r.Approval.RequestID != "message-1" || len(r.Approval.Calls) != 2 || r.Error.Kind != api.KindConflict {
				t.Errorf("%s: %s", format, out)
			}
			if lines := strings.Count(out, `{"type":"approval",`); format == formatStream && lines != 1 {
				t.Errorf("%d requests in\n%s", lines, out)
			}
		}
	}
}

func lastResult(t *testing.T, out string) result {
	t.Helper()
	r := result{envelope: &envelope{}}
	out = strings.TrimSpace(out)
	if !strings.HasPrefix(out, "{\n") {
		out = out[strings.LastIndexByte(out, '\n')+1:]
	}
	if err := json.Unmarshal([]byte(out), &r); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	return r
}

func TestAScriptAnswersOnItsStandardInput(t *testing.T) {
	t.Parallel()
	d := &asker{}
	in := `{"type":"message","content":"do it"}
{"type":"message","content":"and this"}

{"type":"approval","approvals":[{"tool_call_id":"call-1","approve":true,"request_id":"message-1","hash":"h1","arguments":"{}"},` +
		`{"tool_call_id":"call-2","approve":false,"reason":"no"}]}`
	code, out, said := d.typed(t, in, "-p", "--input-format", "stream-json", "--output-format", "stream-json")
	if code != exitOK || said != "" {
		t.Errorf("%d, %q", code, said)
	}
	if diff := diff.Diff("call-1 true message-1 h1 {}\ncall-2 false   no", d.answers()); diff != "" {
		t.Error(diff)
	}
	var subtypes []string
	for line := range strings.Lines(out) {
		r := result{envelope: &envelope{}}
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			t.Fatal(err)
		}
		if r.Type == "result" {
			subtypes = append(subtypes, r.Subtype+" "+cmp.Or(r.Result, "-"))
		}
	}
	if got, want := strings.Join(subtypes, ", "), "error -, error -, success It is done."; got != want {
		t.Errorf("results: %s, want %s", got, want)
	}
	if n := strings.Count(out, `"subtype":"init"`); n != 1 {
		t.Errorf("it began %d times", n)
	}
}

func TestALineThatIsNotUnderstoodEndsTheInput(t *testing.T) {
	t.Parallel()
	for in, want := range map[string]string{
		"":                       "no message on standard input",
		"hello":                  "line 1 of standard input",
		"\n{\"type\":\"shout\"}": `line 2 of standard input: its type is "shout"`,
		`{"type":"message"}`:     "a message needs content",
		`{"type":"approval"}`:    "an approval needs approvals",
		"\xff":                   "not text in UTF-8",
		`{"type":"message","content":"` + strings.Repeat("x", maxInput) + `"}`: "longer than",
	} {
		d := &asker{}
		code, out, said := d.typed(t, in, "-p", "--input-format", "stream-json", "--output-format", "stream-json")
		if code != exitUsage || !strings.Contains(said, want) || !strings.Contains(lastResult(t, out).Error.Message, want) {
			t.Errorf("%.40q: %d, %q", in, code, said)
		}
	}
}
