package providertest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// Wire is one of the protocols that the server speaks.
type Wire string

// The wires.
const (
	Chat      Wire = "chat"
	Responses Wire = "responses"
	Messages  Wire = "messages"
	Generate  Wire = "generate"
	Ollama    Wire = "ollama"
)

// Request is a received request, in one form for all wires. System is taken out of Messages.
type Request struct {
	Wire       Wire
	Path       string
	Header     http.Header
	Body       json.RawMessage
	Model      string
	System     string
	Messages   []Message
	Tools      []string
	ToolChoice string // "", "auto", "required", "none", or a tool's name
	Parallel   *bool
	Stream     bool

	// Messages and Generate only: what the request has in tokens, how many of them were read from the cache, and on Messages
	// how many blocks of thinking were dropped.
	Tokens, CacheRead, Dropped int
}

// Message is one message of a request.
type Message struct {
	Role   string // user, assistant, tool
	Text   string
	Calls  []Call
	CallID string // for a tool's result
}

// Call is a tool call.
type Call struct {
	ID        string
	Name      string
	Arguments string // JSON
}

// Usage is the token count of a turn; a nil detail isn't reported.
type Usage struct {
	Prompt, Completion int
	Cached, Reasoning  *int
}

// Turn is one reply. The zero value is an empty one.
type Turn struct {
	Reasoning  string
	Text       string
	Calls      []Call
	Finish     string // length, content_filter, any of Messages or Generate there, on Generate blocked; empty: it follows
	Sealed     bool   // Messages, Generate: the reasoning arrives unreadable
	Refusal    string // Messages, Generate: why it is refused, with that finish
	Usage      *Usage // nil: words are counted
	NoUsage    bool   // report no usage
	Delay      time.Duration
	TokenDelay time.Duration
	Fail       *Fail
}

// Fail is how a reply fails. Status answers with that status and no stream; the others break the stream after the turn's
// text has been sent.
type Fail struct {
	Status     int
	RetryAfter string
	Code       string
	Message    string
	Broken     Broken
}

// Broken is how a stream breaks.
type Broken string

// The ways to break.
const (
	Disconnect Broken = "disconnect" // the connection is cut
	Truncate   Broken = "truncate"   // a clean end, too early
	MidStream  Broken = "midstream"  // an error event mid-stream
	Stall      Broken = "stall"      // nothing more comes, and the connection stays
	Garbage    Broken = "garbage"    // bytes that are no part of the wire
)

// Model is a model in the server's listing.
type Model struct {
	Name     string
	Window   int  // 0: not reported
	Running  int  // Ollama: the window it is loaded with, 0: not loaded
	NumCtx   int  // Ollama: the Modelfile's num_ctx
	NoTools  bool // cannot call tools
	Thinking bool
	Embed    bool // an embedding model
	Claude   *Claude
	Gemini   *Gemini
}

// Server is the scripted server. Set its fields before the first request.
type Server struct {
	URL string // http://127.0.0.1:port; the wires of OpenAI and Anthropic are under /v1, that of Gemini under /v1beta

	Reply  func(Request) Turn // how to answer; Directives by default
	Models []Model            // what it lists; one model, "test-model", by default
	Key    string             // if set, requests without it are refused
	Form   Form               // how the bytes of answers arrive
	Now    func() time.Time   // the clock of the prompt cache; nil: the real one

	http     *httptest.Server
	closing  chan struct{}
	mu       sync.Mutex
	pulled   []Model // by Ollama's operation
	script   []Turn
	requests []Request
	listed   int
	refused  int
	failures map[string]int
	cached   map[string]cacheEntry // by the digest of a prefix
	active   int
	seq      int
}

// NewServer starts a server that closes when the test ends.
func NewServer(tb testing.TB) *Server {
	tb.Helper()
	s := Start()
	tb.Cleanup(s.Close)
	return s
}

// Start starts a server that the caller must close.
func Start() *Server {
	s := &Server{
		closing: make(chan struct{}), failures: map[string]int{}, cached: map[string]cacheEntry{},
		Models: []Model{{Name: "test-model", Window: 32768}},
	}
	s.Reply = s.Directives
	s.http = httptest.NewServer(http.HandlerFunc(s.serve))
	s.URL = s.http.URL
	return s
}

// Close stops the server and any replies still being sent.
func (s *Server) Close() {
	close(s.closing)
	s.http.CloseClientConnections()
	s.http.Close()
}

// V1 is the base URL of the wires of OpenAI and Anthropic.
func (s *Server) V1() string { return s.URL + "/v1" }

// V1beta is the base URL of the wire of Gemini.
func (s *Server) V1beta() string { return s.URL + "/v1beta" }

// Script queues turns; they are given before Reply is asked.
func (s *Server) Script(turns ...Turn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.script = append(s.script, turns...)
}

// Requests returns the requests for replies so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Last returns the newest request; the zero value if there is none.
func (s *Server) Last() Request {
	all := s.Requests()
	if len(all) == 0 {
		return Request{}
	}
	return all[len(all)-1]
}

// Listings returns how often the models were listed.
func (s *Server) Listings() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listed
}

// Refusals returns how many requests the wire itself refused: they aren't among Requests.
func (s *Server) Refusals() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.refused
}

// Active returns how many replies are being sent; after a cancellation it drops to zero.
func (s *Server) Active() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.active
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 64<<20))
	if err != nil {
		return
	}
	w, whole := s.Form.wrap(w)
	defer whole()
	key := r.Header.Get("X-Api-Key") + r.Header.Get("X-Goog-Api-Key") + strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")
	if s.Key != "" && key != s.Key {
		fail := &Fail{Status: 401, Code: "invalid_api_key", Message: "Incorrect API key provided: " + key}
		if wireOf(r.URL.Path) == Generate {
			fail = googleKey(key)
		}
		refuse(w, wireOf(r.URL.Path), fail)
		return
	}
	switch path := r.URL.Path; {
	case wireOf(path) == Generate:
		s.generate(w, r, body)
	case strings.HasSuffix(path, "/chat/completions"):
		s.reply(w, r, body, chatWire{})
	case strings.HasSuffix(path, "/responses"):
		s.reply(w, r, body, responsesWire{})
	case strings.HasSuffix(path, "/messages"):
		s.reply(w, r, body, &messagesWire{server: s, header: r.Header})
	case strings.HasSuffix(path, "/models") && r.Header.Get("Anthropic-Version") != "":
		s.listMessages(w, r)
	case path == "/api/chat":
		s.reply(w, r, body, ollamaWire{})
	case strings.HasSuffix(path, "/models"):
		s.list(w)
	case strings.HasPrefix(path, "/api/"):
		s.ollamaInfo(w, path, body)
	default:
		http.NotFound(w, r)
	}
}

// protocol is what differs between wires.
type protocol interface {
	parse(body []byte) (Request, error)
	// send writes a whole turn; it returns early when the stream breaks.
	send(out *writer, req Request, id string, t Turn)
}

func (s *Server) reply(w http.ResponseWriter, r *http.Request, body []byte, p protocol) {
	req, err := p.parse(body)
	if err != nil {
		s.mu.Lock()
		s.refused++
		s.mu.Unlock()
		refuse(w, req.Wire, &Fail{Status: 400, Code: "invalid_request_error", Message: err.Error()})
		return
	}
	req.Path, req.Header, req.Body = r.URL.Path, r.Header.Clone(), body
	turn, id := s.next(req)
	defer func() {
		s.mu.Lock()
		s.active--
		s.mu.Unlock()
	}()
	out := &writer{w: w, done: r.Context().Done(), closing: s.closing, gap: turn.TokenDelay}
	if !out.wait(turn.Delay) {
		return
	}
	if turn.Fail != nil && turn.Fail.Status != 0 {
		refuse(w, req.Wire, turn.Fail)
		return
	}
	if turn.Usage == nil && !turn.NoUsage {
		turn.Usage, out.counted = &Usage{Prompt: len(body) / 4, Completion: max(1, len(turn.Text)/4)}, true
	}
	for i := range turn.Calls {
		if turn.Calls[i].ID == "" {
			turn.Calls[i].ID = fmt.Sprintf("call_%s%d", id, i)
		}
	}
	p.send(out, req, id, turn)
	out.flush()
}

func (s *Server) next(req Request) (Turn, string) {
	s.mu.Lock()
	s.requests = append(s.requests, req)
	s.active++
	s.seq++
	id := fmt.Sprintf("%06d", s.seq)
	if len(s.script) > 0 {
		turn := s.script[0]
		s.script = s.script[1:]
		s.mu.Unlock()
		turn.Calls = slices.Clone(turn.Calls)
		return turn, id
	}
	s.mu.Unlock()
	turn := s.Reply(req)
	turn.Calls = slices.Clone(turn.Calls)
	return turn, id
}

func wireOf(path string) Wire {
	switch {
	case strings.HasPrefix(path, "/api/"):
		return Ollama
	case strings.Contains(path, "/v1beta/models"), strings.Contains(path, "/models/") && strings.Contains(path, ":"):
		return Generate
	case strings.HasSuffix(path, "/responses"):
		return Responses
	case strings.HasSuffix(path, "/messages"):
		return Messages
	}
	return Chat
}

// refuse answers with a failure status in the wire's format.
func refuse(w http.ResponseWriter, wire Wire, f *Fail) {
	if f.RetryAfter != "" && wire != Generate {
		w.Header().Set("Retry-After", f.RetryAfter)
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(f.Status)
	message := f.Message
	if message == "" {
		message = http.StatusText(f.Status)
	}
	if wire == Ollama {
		writeJSON(w, map[string]any{"error": message})
		return
	}
	if wire == Generate {
		writeJSON(w, googleError(&Fail{Status: f.Status, Code: f.Code, Message: message, RetryAfter: f.RetryAfter}))
		return
	}
	if wire == Messages {
		writeJSON(w, object{"type": "error", "error": object{"type": messagesError(f), "message": message}, "request_id": "req_1"})
		return
	}
	writeJSON(w, map[string]any{"error": map[string]any{"message": message, "type": "error", "code": f.Code}})
}

// messagesError is the type of an error on Messages.
func messagesError(f *Fail) string {
	if strings.HasSuffix(f.Code, "_error") {
		return f.Code
	}
	kinds := map[int]string{
		401: "authentication_error", 402: "billing_error", 403: "permission_error", 404: "not_found_error", 413: "request_too_large",
		429: "rate_limit_error", 500: "api_error", 503: "api_error", 504: "timeout_error", 529: "overloaded_error",
	}
	return orText(kinds[f.Status], "invalid_request_error")
}

func writeJSON(w io.Writer, v any) { _ = json.NewEncoder(w).Encode(v) } // a client that has left needs no answer

// writer sends the pieces of a reply, with their delays.
type writer struct {
	w       http.ResponseWriter
	done    <-chan struct{}
	closing <-chan struct{}
	gap     time.Duration
	counted bool // the usage is the server's own count
}

// wait waits for d and reports whether the client is still there.
func (o *writer) wait(d time.Duration) bool {
	if d <= 0 {
		return true
	}
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-o.done:
	case <-o.closing:
	}
	return false
}

func (o *writer) flush() {
	if f, ok := o.w.(http.Flusher); ok {
		f.Flush()
	}
}

// line sends a JSON value between a prefix and a suffix, and flushes.
func (o *writer) line(prefix string, v any, end string) {
	var b bytes.Buffer
	b.WriteString(prefix)
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err) // our own values always encode
	}
	b.Write(raw)
	b.WriteString(end)
	_, _ = o.w.Write(b.Bytes()) // a client that has left needs no answer
	o.flush()
}

// cut drops the connection and stops the handler.
func (o *writer) cut() {
	o.flush()
	panic(http.ErrAbortHandler)
}

// pieces splits a text as models do, a word at a time.
func pieces(text string) []string {
	var out []string
	for text != "" {
		n := strings.IndexByte(text[1:], ' ') + 1
		if n <= 0 {
			n = len(text)
		}
		out = append(out, text[:n])
		text = text[n:]
	}
	return out
}

// halves splits arguments into two pieces, so that nobody relies on getting them whole.
func halves(text string) []string {
	n := len(text) / 2
	return []string{text[:n], text[n:]}
}

// now is the time by the clock of the cache.
func (s *Server) now() time.Time {
	if s.Now != nil {
		return s.Now()
	}
	return time.Now()
}

func (s *Server) list(w http.ResponseWriter) {
	s.mu.Lock()
	s.listed++
	s.mu.Unlock()
	data := []map[string]any{}
	for _, m := range s.Models {
		row := map[string]any{"id": m.Name, "object": "model", "owned_by": "test"}
		if m.Window > 0 {
			row["max_model_len"] = m.Window
		}
		if m.NoTools {
			row["supported_parameters"] = []string{"temperature"}
		}
		data = append(data, row)
	}
	w.Header().Set("Content-Type", "application/json")
	writeJSON(w, map[string]any{"object": "list", "data": data})
}
