package wire

import (
	"bytes"
	"encoding/json"
	"html"
	"strings"
	"time"
)

// errorBody is what an error body says, whatever its shape.
type errorBody struct {
	text, code, typ string
	moderated       bool          // a filter refused the request
	again           time.Duration // how long to wait; 0: not said
	spent           bool          // what is used up is the quota of a day or of the plan
}

// parseSaid reads the common shapes: {"error":{…}}, {"error":"text"}, {"code":…,"error":"text"}, {"message":…},
// {"detail":…}, {"errors":[…]}, an array with one of these, an event with one of these, an HTML page, or plain text.
func parseSaid(body []byte) errorBody { return parse(string(body), 0) }

// mostNested limits the search for errors within errors: gateways pass on a server's message as text inside text.
const mostNested = 3

func parse(body string, depth int) errorBody {
	body = eventData(strings.TrimSpace(body))
	if strings.HasPrefix(body, "[") {
		var list []json.RawMessage
		if json.Unmarshal([]byte(body), &list) == nil && len(list) > 0 {
			body = string(list[0])
		}
	}
	var outer map[string]json.RawMessage
	if json.Unmarshal([]byte(body), &outer) != nil {
		var words string
		if json.Unmarshal([]byte(body), &words) == nil {
			body = words
		}
		return errorBody{text: pageText(body)}
	}
	s := readSaid(outer, depth)
	var inner map[string]json.RawMessage
	if json.Unmarshal(outer["error"], &inner) == nil && inner != nil {
		in := readSaid(inner, depth)
		if in.text == "" {
			in.text = s.text
		}
		return in
	}
	for _, field := range []string{"error", "errors"} {
		if s.text == "" {
			s.text = text(outer[field])
		}
	}
	return s
}

func readSaid(m map[string]json.RawMessage, depth int) errorBody {
	s := errorBody{text: text(m["message"]), code: text(m["code"]), typ: text(m["type"])}
	if s.text == "" {
		s.text = text(m["detail"])
	}
	var details struct {
		Code string `json:"error_code"`
	}
	if s.code == "" && json.Unmarshal(m["details"], &details) == nil { // Anthropic's
		s.code = details.Code
	}
	s.google(m)
	if depth < mostNested {
		s.metadata(m["metadata"], depth)
	}
	return s
}

// metadata reads what OpenRouter adds: the message of the server behind it, and why a filter refused.
func (s *errorBody) metadata(raw json.RawMessage, depth int) {
	var m struct {
		Raw      json.RawMessage `json:"raw"`
		Provider string          `json:"provider_name"`
		Reasons  []string        `json:"reasons"`
		Flagged  string          `json:"flagged_input"`
	}
	if json.Unmarshal(raw, &m) != nil {
		return
	}
	if len(m.Reasons) > 0 || m.Flagged != "" {
		s.moderated = true
		s.add(strings.Join(m.Reasons, ", "))
	}
	in := parse(text(m.Raw), depth+1)
	if in.text == "" {
		return
	}
	s.typ = strings.Join([]string{s.typ, in.code, in.typ}, " ")
	s.moderated = s.moderated || in.moderated
	if m.Provider != "" {
		in.text += " (" + m.Provider + ")"
	}
	s.add(in.text)
}

// google reads what Google's services add: the status in a word, and details of several types.
func (s *errorBody) google(m map[string]json.RawMessage) {
	var details []struct {
		Reason     string `json:"reason"`
		Delay      string `json:"retryDelay"`
		Violations []struct {
			ID    string `json:"quotaId"`
			Value any    `json:"quotaValue"`
		} `json:"violations"`
	}
	if s.typ == "" {
		_ = json.Unmarshal(m["status"], &s.typ) // other services have numbers there
	}
	if json.Unmarshal(m["details"], &details) != nil {
		return
	}
	for _, d := range details {
		s.typ += " " + d.Reason
		if wait, err := time.ParseDuration(d.Delay); err == nil && wait > 0 {
			s.again = min(wait, longestAsked)
		}
		for _, v := range d.Violations {
			s.spent = s.spent || strings.Contains(v.ID, "PerDay") || v.Value == "0"
		}
	}
}

func (s *errorBody) add(more string) {
	if s.text != "" && more != "" {
		s.text += ": "
	}
	s.text += more
}

// eventData returns the data of a body that is a single event, and any other body unchanged.
func eventData(body string) string {
	if !strings.HasPrefix(body, "event:") && !strings.HasPrefix(body, "data:") {
		return body
	}
	var data []string
	for line := range strings.Lines(body) {
		if rest, ok := strings.CutPrefix(line, "data:"); ok {
			data = append(data, strings.TrimSpace(rest))
		}
	}
	return strings.Join(data, "\n")
}

// pageText returns the heading of an HTML page, which is how proxies answer; other text is returned unchanged.
func pageText(body string) string {
	if !strings.HasPrefix(body, "<") {
		return body
	}
	lower := strings.ToLower(body)
	for _, tag := range []string{"title", "h1"} {
		from := strings.Index(lower, "<"+tag)
		if from < 0 || len(lower) != len(body) {
			continue
		}
		inner, _, closed := strings.Cut(body[from:], "</")
		_, heading, opened := strings.Cut(inner, ">")
		if heading = strings.TrimSpace(html.UnescapeString(heading)); closed && opened && heading != "" {
			return heading
		}
	}
	return ""
}

// text reads a string, a number or a list of findings, and returns anything else as JSON.
func text(raw json.RawMessage) string {
	raw = bytes.TrimSpace(raw)
	if len(raw) == 0 || string(raw) == "null" || string(raw) == "{}" || string(raw) == "[]" {
		return ""
	}
	var s string
	if json.Unmarshal(raw, &s) == nil {
		return s
	}
	if list := findings(raw); list != "" {
		return list
	}
	return string(raw)
}

// findings reads the list of what is wrong with a request: [{"loc":["body","model"],"msg":"field required"}].
func findings(raw json.RawMessage) string {
	var list []struct {
		Loc     []json.RawMessage `json:"loc"`
		Msg     string            `json:"msg"`
		Message string            `json:"message"`
	}
	if json.Unmarshal(raw, &list) != nil {
		return ""
	}
	var out []string
	for _, f := range list {
		var where []string
		for _, part := range f.Loc {
			where = append(where, strings.Trim(string(part), `"`))
		}
		words := f.Msg + f.Message
		if len(where) > 0 && words != "" {
			words = strings.Join(where, ".") + ": " + words
		}
		if words != "" {
			out = append(out, words)
		}
	}
	return strings.Join(out, "; ")
}
