package providertest

import (
	"bytes"
	"encoding/json"
	"net/http"
)

// generateWire is GenerateContent of the Gemini API. It is one request: it remembers what the request's checks found out.
type generateWire struct {
	server *Server
	model  string // from the path, as the operation is
	stream bool
	in     generateBody
	gemini Gemini
	cache  cacheUse
}

// generateBody is a request. A field that it doesn't have is refused, as the service does.
type generateBody struct {
	Contents []generateContent `json:"contents"`
	System   *generateContent  `json:"systemInstruction"`
	Tools    []struct {
		Functions []generateFunction `json:"functionDeclarations"`
	} `json:"tools"`
	ToolConfig *struct {
		Calling *struct {
			Mode    string   `json:"mode"`
			Allowed []string `json:"allowedFunctionNames"`
		} `json:"functionCallingConfig"`
	} `json:"toolConfig"`
	Config *generateConfig  `json:"generationConfig"`
	Safety []map[string]any `json:"safetySettings"`
}

type generateConfig struct {
	Temperature *float64 `json:"temperature"`
	TopP        *float64 `json:"topP"`
	TopK        *float64 `json:"topK"`
	MaxOutput   *int     `json:"maxOutputTokens"`
	Candidates  *int     `json:"candidateCount"`
	Stop        []string `json:"stopSequences"`
	MIME        string   `json:"responseMimeType"`
	Schema      any      `json:"responseSchema"`
	JSONSchema  any      `json:"responseJsonSchema"`
	Thinking    *struct {
		Include bool   `json:"includeThoughts"`
		Budget  *int   `json:"thinkingBudget"`
		Level   string `json:"thinkingLevel"`
	} `json:"thinkingConfig"`
}

type generateContent struct {
	Role  string         `json:"role"`
	Parts []generatePart `json:"parts"`
}

type generatePart struct {
	Text      *string           `json:"text,omitempty"`
	Thought   bool              `json:"thought,omitempty"`
	Signature string            `json:"thoughtSignature,omitempty"`
	Call      *generateCall     `json:"functionCall,omitempty"`
	Response  *generateResponse `json:"functionResponse,omitempty"`
	Inline    *generateBlob     `json:"inlineData,omitempty"`
}

type generateCall struct {
	ID   string          `json:"id,omitempty"`
	Name string          `json:"name"`
	Args json.RawMessage `json:"args,omitempty"`
}

type generateResponse struct {
	ID       string         `json:"id,omitempty"`
	Name     string         `json:"name"`
	Response map[string]any `json:"response"`
	Parts    []struct {
		Inline *generateBlob `json:"inlineData"`
	} `json:"parts,omitempty"`
}

type generateBlob struct {
	MIME string `json:"mimeType"`
	Data []byte `json:"data"`
}

// parse implements protocol.
func (g *generateWire) parse(body []byte) (Request, error) {
	req := Request{Wire: Generate, Model: g.model, Stream: g.stream}
	dec := json.NewDecoder(bytes.NewReader(body))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&g.in); err != nil {
		return req, refusal("Invalid JSON payload received. %v: Cannot find field.", err)
	}
	g.gemini = g.server.gemini(g.model)
	if err := g.check(); err != nil {
		return req, err
	}
	g.useCache(body)
	req.Tokens, req.CacheRead = g.cache.total, g.cache.read
	if s := g.in.System; s != nil {
		for _, p := range s.Parts {
			req.System += *p.Text
		}
	}
	for _, t := range g.in.Tools {
		for _, f := range t.Functions {
			req.Tools = append(req.Tools, f.Name)
		}
	}
	if c := g.in.ToolConfig; c != nil && c.Calling != nil {
		req.ToolChoice = map[string]string{"AUTO": "auto", "ANY": "required", "NONE": "none"}[c.Calling.Mode]
		if len(c.Calling.Allowed) == 1 {
			req.ToolChoice = c.Calling.Allowed[0]
		}
	}
	for _, c := range g.in.Contents {
		req.Messages = append(req.Messages, c.plain()...)
	}
	return req, nil
}

// plain puts a content into the form of all wires: each function response is a message of its own.
func (c generateContent) plain() []Message {
	var out []Message
	said := Message{Role: map[string]string{"user": "user", "model": "assistant"}[c.Role]}
	for _, p := range c.Parts {
		switch {
		case p.Call != nil:
			args := string(p.Call.Args)
			if args == "" {
				args = "{}"
			}
			said.Calls = append(said.Calls, Call{ID: p.Call.ID, Name: p.Call.Name, Arguments: args})
		case p.Response != nil:
			text, _ := p.Response.Response["output"].(string)
			failed, _ := p.Response.Response["error"].(string)
			out = append(out, Message{Role: "tool", CallID: p.Response.ID, Text: text + failed})
		case p.Text != nil && !p.Thought:
			said.Text += *p.Text
		}
	}
	if said.Text != "" || len(said.Calls) > 0 || len(out) == 0 {
		out = append(out, said)
	}
	return out
}

// send implements protocol.
func (g *generateWire) send(o *writer, req Request, id string, t Turn) {
	head := object{"modelVersion": req.Model, "responseId": "resp_" + id}
	usage := g.usage(t, o.counted)
	last := object{"content": object{"role": "model"}, "index": 0, "finishReason": generateFinish(t)}
	if t.Finish == "blocked" {
		head["promptFeedback"] = object{"blockReason": orText(t.Refusal, "SAFETY")}
		last = nil
	} else if t.Refusal != "" {
		last["finishMessage"] = t.Refusal
	}
	if !req.Stream {
		if last != nil {
			last["content"] = object{"role": "model", "parts": g.parts(t, false)}
		}
		o.w.Header().Set("Content-Type", "application/json; charset=UTF-8")
		o.line("", g.chunk(head, usage, last), "\n")
		return
	}
	o.w.Header().Set("Content-Type", "text/event-stream")
	var begun object
	if usage != nil {
		begun = object{"promptTokenCount": usage["promptTokenCount"], "totalTokenCount": usage["promptTokenCount"]}
	}
	for _, p := range g.parts(t, true) {
		if !o.wait(o.gap) {
			return
		}
		o.line("data: ", g.chunk(head, begun, object{"content": object{"role": "model", "parts": []object{p}}, "index": 0}), "\n\n")
	}
	if g.broken(o, t.Fail) {
		return
	}
	if last != nil && len(t.Calls) == 0 && t.Reasoning != "" { // a signature that came too late for the text
		last["content"] = object{"role": "model", "parts": []object{{"text": "", "thoughtSignature": g.sign(nil)}}}
	}
	if o.wait(o.gap) {
		o.line("data: ", g.chunk(head, usage, last), "\n\n")
	}
}

func (g *generateWire) chunk(head, usage, candidate object) object {
	out := object{}
	for k, v := range head {
		out[k] = v
	}
	if candidate != nil {
		out["candidates"] = []object{candidate}
	}
	if usage != nil {
		out["usageMetadata"] = usage
	}
	return out
}

func (g *generateWire) broken(o *writer, f *Fail) bool {
	if f == nil || f.Broken != MidStream {
		return broken(o, f)
	}
	body := googleError(&Fail{Status: http.StatusServiceUnavailable, Message: "The model is overloaded. Please try again later."})
	if f.Message != "" {
		body = googleError(&Fail{Status: http.StatusBadRequest, Message: f.Message})
	}
	o.line("data: ", body, "\n\n")
	return true
}

func generateFinish(t Turn) string {
	switch t.Finish {
	case "":
		return "STOP"
	case "length":
		return "MAX_TOKENS"
	case "content_filter":
		return "SAFETY"
	}
	return t.Finish
}

// parts are those of an answer: a streamed text comes in many, a call in one. The first call is signed, or else the text.
func (g *generateWire) parts(t Turn, streamed bool) []object {
	out := []object{}
	text := func(s string, thought bool) {
		all := []string{s}
		if streamed {
			all = pieces(s)
		}
		for _, piece := range all {
			p := object{"text": piece}
			if thought {
				p["thought"] = true
			}
			out = append(out, p)
		}
	}
	if c := g.in.Config; t.Reasoning != "" && !t.Sealed && c != nil && c.Thinking != nil && c.Thinking.Include {
		text(t.Reasoning, true)
	}
	if t.Text != "" {
		text(t.Text, false)
		if !streamed && len(t.Calls) == 0 && t.Reasoning != "" {
			out[len(out)-1]["thoughtSignature"] = g.sign(nil)
		}
	}
	for i, c := range t.Calls {
		call := &generateCall{ID: c.ID, Name: c.Name, Args: json.RawMessage(c.Arguments)}
		if g.gemini.NoIDs {
			call.ID = ""
		}
		p := object{"functionCall": call}
		if i == 0 && (!g.gemini.Lax || t.Reasoning != "") {
			p["thoughtSignature"] = g.sign(call)
		}
		out = append(out, p)
	}
	return out
}

// usage counts what the turn says, or else what the cache did.
func (g *generateWire) usage(t Turn, counted bool) object {
	u := t.Usage
	if u == nil {
		return nil
	}
	out := object{"promptTokenCount": u.Prompt, "candidatesTokenCount": u.Completion, "totalTokenCount": u.Prompt + u.Completion}
	if !counted {
		if u.Cached != nil {
			out["cachedContentTokenCount"] = *u.Cached
		}
		if u.Reasoning != nil {
			out["candidatesTokenCount"], out["thoughtsTokenCount"] = u.Completion-*u.Reasoning, *u.Reasoning
		}
		return out
	}
	out["promptTokenCount"], out["totalTokenCount"] = g.cache.total, g.cache.total+u.Completion
	if g.cache.read > 0 {
		out["cachedContentTokenCount"] = g.cache.read
	}
	if n := len(t.Reasoning) / 4; n > 0 {
		out["thoughtsTokenCount"], out["totalTokenCount"] = n, g.cache.total+u.Completion+n
	}
	return out
}
