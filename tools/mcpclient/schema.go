package mcpclient

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
)

// Bounds of a schema.
const (
	mostSchema   = 64 << 10 // bytes
	mostDepth    = 24
	mostNodes    = 4000
	mostRemote   = 1000 // characters of a name
	mostReasons  = 10
	mostProperty = 64 // characters of a name, as services have it
)

// offersOf makes of what a server lists what agents can be offered. What can't be called by a name is left out.
func offersOf(tools []*mcp.Tool) core.MCPListing {
	out := core.MCPListing{Offers: []core.MCPOffer{}}
	seen := map[string]bool{}
	leave := func(format string, args ...any) {
		if len(out.Left) < mostLeftOut {
			out.Left = append(out.Left, fmt.Sprintf(format, args...))
		}
	}
	for _, t := range tools {
		switch {
		case t.Name == "":
			leave("a tool without a name")
			continue
		case len(t.Name) > mostRemote:
			leave("a tool whose name has %d characters: %s", len(t.Name), plain(t.Name, 60))
			continue
		case seen[t.Name]:
			leave("a second tool named %s", plain(t.Name, 60))
			continue
		}
		seen[t.Name] = true
		out.Offers = append(out.Offers, offerOf(t))
	}
	return out
}

func offerOf(t *mcp.Tool) core.MCPOffer {
	o := core.MCPOffer{Remote: t.Name, Description: paragraph(t.Description, core.MaxToolNote)}
	raw, err := json.Marshal(t.InputSchema)
	if err != nil {
		raw = []byte("null")
	}
	text, _ := json.Marshal([]string{t.Name, t.Description, string(raw)}) // texts, which can be written
	sum := sha256.Sum256(text)
	o.Hash = hex.EncodeToString(sum[:])
	n := normaliser{}
	schema := n.top(t.InputSchema, len(raw))
	if n.wrong == "" {
		if o.Parameters, err = json.Marshal(schema); err != nil || len(o.Parameters) > mostSchema {
			n.fail("it has more than %d bytes", mostSchema)
		}
	}
	switch {
	case n.wrong != "":
		o.Health, o.Reasons = core.MCPInvalid, []string{n.wrong}
		o.Parameters = json.RawMessage(`{"type":"object","properties":{}}`)
	case len(n.loose) > 0:
		o.Health, o.Reasons = core.MCPNonStrict, n.loose
	default:
		o.Health = core.MCPStrict
	}
	return o
}

// normaliser makes of a schema what every provider takes, and notes what it is not.
type normaliser struct {
	defs  map[string]any
	nodes int
	wrong string   // why no provider takes it
	loose []string // why it can't be held to strictly
}

func (n *normaliser) fail(format string, args ...any) {
	if n.wrong == "" {
		n.wrong = fmt.Sprintf(format, args...)
	}
}

func (n *normaliser) note(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if len(n.loose) < mostReasons && !slices.Contains(n.loose, text) {
		n.loose = append(n.loose, text)
	}
}

// top makes the schema of a tool's arguments, which is one of an object.
func (n *normaliser) top(schema any, size int) map[string]any {
	object, ok := schema.(map[string]any)
	switch {
	case size > 4*mostSchema:
		n.fail("it has %d bytes; at most %d are taken", size, 4*mostSchema)
		return nil
	case !ok && schema != nil:
		n.fail("it is no JSON object")
		return nil
	case !ok:
		object = map[string]any{}
		n.note("the server describes no arguments")
	}
	if kind, has := object["type"]; has && kind != "object" {
		n.fail("it describes no object")
		return nil
	}
	n.defs = map[string]any{}
	for _, at := range []string{"$defs", "definitions"} {
		defs, _ := object[at].(map[string]any)
		for name, def := range defs {
			n.defs["#/"+at+"/"+name] = def
		}
	}
	out := n.node(object, 0, nil)
	for _, word := range []string{"anyOf", "oneOf", "allOf", "not", "enum", "const", "if", "then", "else"} {
		if _, has := out[word]; has { // several providers refuse these here
			delete(out, word)
			n.note("%s at the top is left out", word)
		}
	}
	out["type"] = "object"
	if out["properties"] == nil {
		out["properties"] = map[string]any{}
	}
	return out
}

// dropped are the words of a schema that say nothing to a model, or name what isn't there.
var dropped = []string{"$schema", "$id", "$anchor", "$comment", "$defs", "definitions", "$dynamicAnchor", "$vocabulary"}

// node makes one schema, depth levels down; via are the references that led to it.
func (n *normaliser) node(schema map[string]any, depth int, via []string) map[string]any {
	if n.nodes++; n.nodes > mostNodes || depth > mostDepth {
		n.fail("it has more than %d parts, or is more than %d levels deep", mostNodes, mostDepth)
		return map[string]any{}
	}
	for _, word := range []string{"$ref", "$dynamicRef"} {
		if ref, has := schema[word]; has {
			return n.referred(schema, ref, depth, via)
		}
	}
	out := make(map[string]any, len(schema))
	for word, value := range schema {
		if slices.Contains(dropped, word) {
			continue
		}
		if made, keep := n.word(word, value, depth, via); keep {
			out[word] = made
		}
	}
	n.settle(out)
	return out
}

// referred puts what a reference names in its place. One that leads to itself is left open.
func (n *normaliser) referred(schema map[string]any, ref any, depth int, via []string) map[string]any {
	name, _ := ref.(string)
	def, ok := n.defs[name].(map[string]any)
	switch {
	case slices.Contains(via, name):
		n.note("%s contains itself, and is left open", plain(name, 60))
		return map[string]any{}
	case !ok:
		n.fail("it refers to %s, which isn't there", plain(fmt.Sprint(ref), 60))
		return map[string]any{}
	}
	merged := make(map[string]any, len(def)+1)
	for word, value := range def {
		merged[word] = value
	}
	if text, ok := schema["description"].(string); ok {
		merged["description"] = text
	}
	return n.node(merged, depth+1, append(slices.Clip(via), name))
}

// word makes one word of a schema.
func (n *normaliser) word(word string, value any, depth int, via []string) (made any, keep bool) {
	sub := func(v any) any {
		switch v := v.(type) {
		case map[string]any:
			return n.node(v, depth+1, via)
		case bool:
			return v
		}
		n.fail("%s holds what is no schema", word)
		return map[string]any{}
	}
	switch word {
	case "properties":
		return n.properties(value, sub)
	case "items", "additionalProperties", "not", "contains", "propertyNames", "if", "then", "else":
		if _, ok := value.([]any); ok && word == "items" { // of an older draft
			n.note("a list of items is left open")
			return map[string]any{}, true
		}
		return sub(value), true
	case "anyOf", "oneOf", "allOf":
		list, ok := value.([]any)
		if !ok || len(list) == 0 {
			n.fail("%s is no list", word)
			return nil, false
		}
		all := make([]any, len(list))
		for i := range list {
			all[i] = sub(list[i])
		}
		return all, true
	case "type":
		return n.kind(value)
	case "required":
		list, ok := texts(value)
		if !ok {
			n.note("a list of what is required is unreadable, and left out")
		}
		return list, ok
	case "description", "title":
		text, ok := value.(string)
		return paragraph(text, core.MaxToolNote), ok
	case "patternProperties", "dependentSchemas", "dependentRequired", "prefixItems", "unevaluatedProperties", "unevaluatedItems":
		n.note("%s is left out", word)
		return nil, false
	}
	return value, true
}

func (n *normaliser) properties(value any, sub func(any) any) (any, bool) {
	given, ok := value.(map[string]any)
	if !ok {
		n.fail("its properties are no object")
		return nil, false
	}
	out := make(map[string]any, len(given))
	for name, one := range given {
		if !legalProperty(name) {
			n.fail("the argument %s has a name that services refuse", plain(name, 60))
			continue
		}
		out[name] = sub(one)
	}
	return out, true
}

func legalProperty(name string) bool {
	return name != "" && len(name) <= mostProperty && strings.IndexFunc(name, func(r rune) bool {
		return (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') && r != '_' && r != '-' && r != '.'
	}) < 0
}

// kind checks the type of a schema.
func (n *normaliser) kind(value any) (any, bool) {
	known := []string{"string", "number", "integer", "boolean", "object", "array", "null"}
	list, ok := texts(value)
	if one, single := value.(string); single {
		list, ok = []string{one}, true
	}
	if !ok || len(list) == 0 || slices.ContainsFunc(list, func(k string) bool { return !slices.Contains(known, k) }) {
		n.fail("it holds the type %s, which there is none of", plain(fmt.Sprint(value), 60))
		return nil, false
	}
	return value, true
}

func texts(value any) ([]string, bool) {
	list, ok := value.([]any)
	var out []string
	for _, v := range list {
		text, isText := v.(string)
		if !isText {
			return nil, false
		}
		out = append(out, text)
	}
	return out, ok
}

// settle completes a schema as providers want it, and notes whether it can be held to strictly.
func (n *normaliser) settle(out map[string]any) {
	properties, isObject := out["properties"].(map[string]any)
	if out["type"] == "array" && out["items"] == nil {
		out["items"] = map[string]any{}
	}
	required, _ := out["required"].([]string)
	required = slices.DeleteFunc(required, func(name string) bool { _, has := properties[name]; return !has })
	if len(required) > 0 {
		out["required"] = required
	} else {
		delete(out, "required")
	}
	if !isObject {
		return
	}
	if len(required) < len(properties) {
		n.note("not every argument is required")
	}
	if out["additionalProperties"] != false {
		n.note("it allows arguments that it doesn't name")
	}
}
