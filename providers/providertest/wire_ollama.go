package providertest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
)

// ollamaWire is Ollama's own chat.
type ollamaWire struct{}

func (ollamaWire) parse(body []byte) (Request, error) {
	req := Request{Wire: Ollama}
	var in struct {
		Model    string `json:"model"`
		Stream   *bool  `json:"stream"`
		Messages []struct {
			Role    string `json:"role"`
			Content string `json:"content"`
			CallID  string `json:"tool_call_id"`
			Calls   []struct {
				ID       string `json:"id"`
				Function struct {
					Name      string         `json:"name"`
					Arguments map[string]any `json:"arguments"`
				} `json:"function"`
			} `json:"tool_calls"`
		} `json:"messages"`
		Tools []struct {
			Function struct {
				Name string `json:"name"`
			} `json:"function"`
		} `json:"tools"`
	}
	if err := json.Unmarshal(body, &in); err != nil {
		return req, err
	}
	req.Model, req.Stream = in.Model, in.Stream == nil || *in.Stream
	for _, t := range in.Tools {
		req.Tools = append(req.Tools, t.Function.Name)
	}
	for i, m := range in.Messages {
		if i == 0 && m.Role == "system" {
			req.System = m.Content
			continue
		}
		out := Message{Role: m.Role, Text: m.Content, CallID: m.CallID}
		for _, c := range m.Calls {
			args, err := json.Marshal(c.Function.Arguments)
			if err != nil {
				return req, err
			}
			out.Calls = append(out.Calls, Call{ID: c.ID, Name: c.Function.Name, Arguments: string(args)})
		}
		req.Messages = append(req.Messages, out)
	}
	return req, nil
}

func (ollamaWire) send(o *writer, req Request, _ string, t Turn) {
	o.w.Header().Set("Content-Type", "application/x-ndjson")
	line := func(message object) bool {
		if !o.wait(o.gap) {
			return false
		}
		message["role"] = "assistant"
		if message["content"] == nil {
			message["content"] = ""
		}
		o.line("", object{"model": req.Model, "created_at": "2026-11-21T09:00:00Z", "message": message, "done": false}, "\n")
		return true
	}
	ok := true
	for _, p := range pieces(t.Reasoning) {
		ok = ok && line(object{"thinking": p})
	}
	for _, p := range pieces(t.Text) {
		ok = ok && line(object{"content": p})
	}
	for i, c := range t.Calls {
		ok = ok &&
			line(
				object{
					"tool_calls": []object{
						{"id": c.ID, "function": object{"index": i, "name": c.Name, "arguments": json.RawMessage(c.Arguments)}},
					},
				},
			)
	}
	if !ok {
		return
	}
	if t.Fail != nil {
		switch t.Fail.Broken {
		case Disconnect:
			o.cut()
		case MidStream:
			o.line("", object{"error": orText(t.Fail.Message, "llama runner process has terminated")}, "\n")
		case Stall:
			o.wait(time.Hour)
		case Garbage:
			_, _ = o.w.Write([]byte("\x00\xff}{ not a stream\n\n")) // a client that has left needs no answer
		case Truncate:
		}
		return
	}
	last := object{
		"model":       req.Model,
		"created_at":  "2026-11-21T09:00:00Z",
		"message":     object{"role": "assistant", "content": ""},
		"done":        true,
		"done_reason": orText(t.Finish, "stop"),
	}
	if t.Usage != nil {
		last["prompt_eval_count"], last["eval_count"] = t.Usage.Prompt, t.Usage.Completion
	}
	o.line("", last, "\n")
}

func orText(a, b string) string {
	if a == "" {
		return b
	}
	return a
}

// ollamaInfo answers Ollama's requests about its models.
func (s *Server) ollamaInfo(w http.ResponseWriter, path string, body []byte) {
	w.Header().Set("Content-Type", "application/json")
	switch path {
	case "/api/version":
		writeJSON(w, object{"version": "0.32.15"})
	case "/api/tags":
		s.mu.Lock()
		s.listed++
		s.mu.Unlock()
		models := []object{}
		for _, m := range s.ollamaModels() {
			models = append(models, object{"name": m.Name, "model": m.Name, "size": 1, "details": object{"family": "llama"}})
		}
		writeJSON(w, object{"models": models})
	case "/api/ps":
		models := []object{}
		for _, m := range s.Models {
			if m.Running > 0 {
				models = append(models, object{"name": m.Name, "model": m.Name, "context_length": m.Running})
			}
		}
		writeJSON(w, object{"models": models})
	case "/api/show":
		s.show(w, body)
	case "/api/pull":
		s.pull(w, body)
	default:
		w.WriteHeader(http.StatusNotFound)
	}
}

// ollamaModels are the models with those that were pulled.
func (s *Server) ollamaModels() []Model {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append(slices.Clone(s.Models), s.pulled...)
}

// pull downloads a model in two parts; the library has none whose name begins with "no-such".
func (s *Server) pull(w http.ResponseWriter, body []byte) {
	var in struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(body, &in) // on an error, no model has that name
	w.Header().Set("Content-Type", "application/x-ndjson")
	lines := []object{{"status": "pulling manifest"}}
	if strings.HasPrefix(in.Model, "no-such") {
		lines = append(lines, object{"error": "pull model manifest: file does not exist"})
	} else {
		for _, done := range []int{0, 512, 1024} {
			lines = append(lines, object{"status": "pulling abc", "digest": "sha256:abc", "total": 1024, "completed": done})
		}
		lines = append(lines, object{"status": "verifying sha256 digest"}, object{"status": "success"})
		s.mu.Lock()
		s.pulled = append(s.pulled, Model{Name: in.Model, Window: 40_960})
		s.mu.Unlock()
	}
	for _, line := range lines {
		writeJSON(w, line)
		_ = http.NewResponseController(w).Flush() // a client that has left needs nothing
	}
}

func (s *Server) show(w http.ResponseWriter, body []byte) {
	var in struct {
		Model string `json:"model"`
	}
	_ = json.Unmarshal(body, &in) // on an error, no model has that name
	for _, m := range s.ollamaModels() {
		if m.Name != in.Model && strings.TrimSuffix(m.Name, ":latest") != in.Model {
			continue
		}
		capabilities := []string{"completion"}
		if m.Embed {
			capabilities = []string{"embedding"}
		}
		if !m.NoTools && !m.Embed {
			capabilities = append(capabilities, "tools")
		}
		if m.Thinking {
			capabilities = append(capabilities, "thinking")
		}
		parameters := ""
		if m.NumCtx > 0 {
			parameters = fmt.Sprintf("stop                           \"<|end|>\"\nnum_ctx                        %d\n", m.NumCtx)
		}
		writeJSON(w, object{
			"capabilities": capabilities, "parameters": parameters, "details": object{"family": "llama"},
			"model_info": object{"general.architecture": "llama", "llama.context_length": m.Window},
		})
		return
	}
	w.WriteHeader(http.StatusNotFound)
	writeJSON(w, object{"error": fmt.Sprintf("model '%s' not found", in.Model)})
}
