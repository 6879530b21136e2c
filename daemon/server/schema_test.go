package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"sync"
)

// contractShapes are what is kept of the contract about the shape of answers; daemon/api's tests make it from the contract.
type contractShapes struct {
	Schemas map[string]struct {
		Required []string
		Enum     []string
		Types    map[string]string
	}
	Answers map[string]string
}

var readShapes = sync.OnceValues(func() (shapes contractShapes, err error) {
	data, err := os.ReadFile("../api/testdata/contract.json")
	if err == nil {
		err = json.Unmarshal(data, &shapes)
	}
	return shapes, err
})

// wrongShape says where an answer is not as the contract has it; every answer that a fixture gets is checked.
func wrongShape(r *http.Request, got reply) string {
	if got.status != http.StatusOK || !strings.HasPrefix(r.URL.Path, "/v1/") ||
		!strings.HasPrefix(got.header.Get("Content-Type"), "application/json") {
		return ""
	}
	c, err := readShapes()
	if err != nil {
		return err.Error()
	}
	want, ok := c.answer(r.Method, r.URL.Path)
	if !ok {
		return ""
	}
	var v any
	dec := json.NewDecoder(bytes.NewReader(got.body))
	dec.UseNumber()
	if err := dec.Decode(&v); err != nil {
		return err.Error()
	}
	return c.check("answer", want, v)
}

// answer finds what an operation answers with. A path without parameters goes before one with them.
func (c contractShapes) answer(method, path string) (string, bool) {
	if t, ok := c.Answers[method+" "+path]; ok {
		return t, true
	}
	parts := strings.Split(strings.TrimSuffix(path, "/"), "/")
	for op, t := range c.Answers {
		m, template, _ := strings.Cut(op, " ")
		if m != method {
			continue
		}
		like := strings.Split(strings.TrimSuffix(template, "/"), "/")
		if slices.EqualFunc(parts, like, func(part, want string) bool {
			return part == want ||
				strings.HasPrefix(want, "{") &&
					!slices.Contains([]string{"count", "metadata", "name", "search", "embedding", "active"}, part)
		}) {
			return t, true
		}
	}
	return "", false
}

// alternatives splits a type at the | outside of its lists.
func alternatives(t string) (out []string) {
	depth, from := 0, 0
	for i, c := range t {
		switch c {
		case '[':
			depth++
		case ']':
			depth--
		case '|':
			if depth == 0 {
				out, from = append(out, t[from:i]), i+1
			}
		}
	}
	return append(out, t[from:])
}

// check says what is wrong with a value, by the alternative that it comes nearest to.
func (c contractShapes) check(at, want string, v any) string {
	wrong := ""
	for _, t := range alternatives(want) {
		w := c.checkOne(at, t, v)
		if w == "" {
			return ""
		}
		if wrong == "" || strings.HasPrefix(w, at+".") {
			wrong = w
		}
	}
	return wrong
}

func (c contractShapes) checkOne(at, want string, v any) string {
	if name, ok := strings.CutPrefix(want, "#"); ok {
		return c.checkNamed(at, name, v)
	}
	if strings.HasPrefix(want, "[") {
		list, ok := v.([]any)
		if !ok {
			return fmt.Sprintf("%s is %v, no list", at, v)
		}
		for i, one := range list {
			if w := c.check(fmt.Sprintf("%s[%d]", at, i), want[1:len(want)-1], one); w != "" {
				return w
			}
		}
		return ""
	}
	if want == "any" || kindOf(v) == want || want == "number" && kindOf(v) == "integer" {
		return ""
	}
	return fmt.Sprintf("%s is %v, not %s", at, v, want)
}

func kindOf(v any) string {
	switch v := v.(type) {
	case nil:
		return "null"
	case bool:
		return "boolean"
	case string:
		return "string"
	case json.Number:
		if strings.ContainsAny(v.String(), ".eE") {
			return "number"
		}
		return "integer"
	case []any:
		return "array"
	}
	return "object"
}

// messageSchema is the member of the union of messages that a message_type names.
func messageSchema(kind any) string {
	words := strings.Split(fmt.Sprint(kind), "_")
	for i, w := range words {
		words[i] = strings.ToUpper(w[:1]) + w[1:]
	}
	return strings.Join(words, "")
}

func (c contractShapes) checkNamed(at, name string, v any) string {
	object, isObject := v.(map[string]any)
	if name == "LettaMessageUnion" && isObject {
		name = messageSchema(object["message_type"])
	}
	if name == "Block" {
		name = "BlockResponse"
	}
	schema, ok := c.Schemas[name]
	switch {
	case !ok:
		return ""
	case len(schema.Enum) > 0:
		if text, ok := v.(string); !ok || !slices.Contains(schema.Enum, text) {
			return fmt.Sprintf("%s is %v, no %s", at, v, name)
		}
		return ""
	case !isObject:
		return fmt.Sprintf("%s is %v, no %s", at, v, name)
	}
	for _, key := range schema.Required {
		if _, ok := object[key]; !ok {
			return fmt.Sprintf("%s lacks %s of %s", at, key, name)
		}
	}
	for key, one := range object {
		if want, ok := schema.Types[key]; ok {
			if w := c.check(at+"."+key, want, one); w != "" {
				return w
			}
		}
	}
	return ""
}
