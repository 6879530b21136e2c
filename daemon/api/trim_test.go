package api

import (
	"encoding/json"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// trimContract makes the contract that the tests compare with from an OpenAPI file: names, required keys, types and
// values, of the schemas and operations we use. No descriptions come along.
func trimContract(t *testing.T, from, to string) {
	t.Helper()
	data, err := os.ReadFile(from)
	if err != nil {
		t.Fatal(err)
	}
	var doc openAPI
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	out := contract{Schemas: map[string]contractSchema{}, Operations: map[string]contractOperation{}, Answers: doc.answers()}
	names := wantedSchemas()
	for op := range wantedOperations() {
		method, path, _ := strings.Cut(op, " ")
		o, ok := doc.Paths[path][strings.ToLower(method)]
		if !ok {
			t.Fatalf("%s is not in %s", op, from)
		}
		out.Operations[op] = o.trim()
	}
	for _, n := range names {
		s, ok := doc.Components.Schemas[n]
		if !ok {
			t.Fatalf("schema %s is not in %s", n, from)
		}
		slices.Sort(s.Required)
		out.Schemas[n] = contractSchema{Keys: sortedKeys(s.Properties), Required: s.Required, Enum: s.values(), Types: s.types()}
	}
	data, err = json.MarshalIndent(out, "", " ")
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(to, append(data, '\n'), 0o644); err != nil {
		t.Fatal(err)
	}
}

type openAPI struct {
	Paths      map[string]map[string]openOperation `json:"paths"`
	Components struct {
		Schemas map[string]openSchema `json:"schemas"`
	} `json:"components"`
}

type openSchema struct {
	Properties map[string]openSchema `json:"properties"`
	Required   []string              `json:"required"`
	Enum       []any                 `json:"enum"`
	Type       string                `json:"type"`
	Ref        string                `json:"$ref"`
	AnyOf      []openSchema          `json:"anyOf"`
	OneOf      []openSchema          `json:"oneOf"`
	Items      *openSchema           `json:"items"`
}

func (s openSchema) types() map[string]string {
	out := map[string]string{}
	for key, p := range s.Properties {
		out[key] = p.word()
	}
	return out
}

func (s openSchema) values() []string {
	var out []string
	for _, v := range s.Enum {
		if text, ok := v.(string); ok {
			out = append(out, text)
		}
	}
	return out
}

// word is what a value may be: alternatives with | between them, #Name for a schema, […] for a list of what stands inside.
func (s openSchema) word() string {
	switch {
	case s.Ref != "":
		return "#" + s.Ref[strings.LastIndex(s.Ref, "/")+1:]
	case s.Items != nil:
		return "[" + s.Items.word() + "]"
	case len(s.AnyOf)+len(s.OneOf) > 0:
		var all []string
		for _, one := range append(s.AnyOf, s.OneOf...) {
			all = append(all, one.word())
		}
		return strings.Join(all, "|")
	case s.Type == "":
		return "any"
	}
	return s.Type
}

// nouns are what our operations are about.
func nouns() []string {
	return []string{
		"agents",
		"archives",
		"blocks",
		"conversations",
		"folders",
		"health",
		"messages",
		"models",
		"passages",
		"runs",
		"sources",
		"steps",
		"tags",
		"tools",
	}
}

// answers are what operations answer with where that is JSON.
func (d openAPI) answers() map[string]string {
	out := map[string]string{}
	for path, methods := range d.Paths {
		if !slices.Contains(nouns(), strings.Split(path, "/")[2]) {
			continue
		}
		for method, op := range methods {
			if content, ok := op.Responses["200"].Content["application/json"]; ok {
				out[strings.ToUpper(method)+" "+path] = content.Schema.word()
			}
		}
	}
	return out
}

type openOperation struct {
	Responses map[string]struct {
		Content map[string]struct {
			Schema openSchema `json:"schema"`
		} `json:"content"`
	} `json:"responses"`
	Parameters []struct {
		Name string `json:"name"`
		In   string `json:"in"`
	} `json:"parameters"`
	RequestBody struct {
		Content map[string]struct {
			Schema struct {
				Ref string `json:"$ref"`
			} `json:"schema"`
		} `json:"content"`
	} `json:"requestBody"`
}

func (o openOperation) trim() contractOperation {
	var out contractOperation
	for _, p := range o.Parameters {
		if p.In == "query" {
			out.Query = append(out.Query, p.Name)
		}
	}
	slices.Sort(out.Query)
	ref := o.RequestBody.Content["application/json"].Schema.Ref
	out.Body = ref[strings.LastIndex(ref, "/")+1:]
	return out
}

func wantedSchemas() []string {
	var out []string
	for n := range schemas() {
		out = append(out, n)
	}
	for _, ns := range unions() {
		out = append(out, ns...)
	}
	for n := range enums() {
		out = append(out, n)
	}
	return out
}

// wantedOperations are those with parameters of ours and those whose body is checked.
func wantedOperations() map[string]bool {
	out := map[string]bool{}
	for op := range queries() {
		out[op] = true
	}
	for _, path := range []string{
		"/v1/agents/", "/v1/blocks/", "/v1/agents/{agent_id}/messages", "/v1/agents/{agent_id}/messages/async",
		"/v1/agents/{agent_id}/messages/cancel", "/v1/agents/{agent_id}/archival-memory", "/v1/conversations/",
		"/v1/conversations/{conversation_id}/messages", "/v1/runs/{run_id}/stream", "/v1/agents/{agent_id}/summarize",
		"/v1/conversations/{conversation_id}/compact", "/v1/messages/search", "/v1/passages/search",
		"/v1/agents/messages/search", "/v1/archives/", "/v1/archives/{archive_id}/passages", "/v1/archives/{archive_id}/passages/batch",
		"/v1/folders/", "/v1/sources/",
	} {
		out[http.MethodPost+" "+path] = true
	}
	for _, path := range []string{
		"/v1/agents/{agent_id}", "/v1/blocks/{block_id}", "/v1/conversations/{conversation_id}",
		"/v1/agents/{agent_id}/reset-messages", "/v1/archives/{archive_id}", "/v1/agents/{agent_id}/archives/attach/{archive_id}",
		"/v1/agents/{agent_id}/archives/detach/{archive_id}", "/v1/folders/{folder_id}", "/v1/sources/{source_id}",
		"/v1/agents/{agent_id}/folders/attach/{folder_id}", "/v1/agents/{agent_id}/folders/detach/{folder_id}",
		"/v1/agents/{agent_id}/sources/attach/{source_id}", "/v1/agents/{agent_id}/sources/detach/{source_id}",
		"/v1/agents/{agent_id}/files/close-all", "/v1/agents/{agent_id}/files/{file_id}/open",
		"/v1/agents/{agent_id}/files/{file_id}/close",
	} {
		out[http.MethodPatch+" "+path] = true
	}
	out[http.MethodGet+" /v1/archives/{archive_id}/agents"] = true
	for _, path := range []string{
		"/v1/folders/count", "/v1/folders/{folder_id}", "/v1/folders/name/{folder_name}", "/v1/sources/", "/v1/sources/count",
		"/v1/sources/{source_id}", "/v1/sources/name/{source_name}", "/v1/sources/{source_id}/agents", "/v1/sources/{source_id}/passages",
		"/v1/sources/{source_id}/files",
	} {
		out[http.MethodGet+" "+path] = true
	}
	for _, path := range []string{
		"/v1/folders/{folder_id}", "/v1/folders/{folder_id}/{file_id}", "/v1/sources/{source_id}", "/v1/sources/{source_id}/{file_id}",
	} {
		out[http.MethodDelete+" "+path] = true
	}
	out[http.MethodDelete+" /v1/archives/{archive_id}"] = true
	out[http.MethodDelete+" /v1/archives/{archive_id}/passages/{passage_id}"] = true
	return out
}

func sortedKeys(m map[string]openSchema) []string {
	var out []string
	for k := range m {
		out = append(out, k)
	}
	slices.Sort(out)
	return out
}
