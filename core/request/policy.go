package request

import (
	"bytes"
	"encoding/json"

	"loci/core"
)

// The arguments that a policy adds to tools.
const (
	ThinkingArg  = "thinking"
	heartbeatArg = "request_heartbeat"
)

// Spec describes a tool to an agent's model: if the policy has inner thoughts, they become a leading argument, and with
// heartbeat the tool takes request_heartbeat.
func Spec(info core.ToolInfo, policy core.Policy, heartbeat bool) core.ToolSpec {
	spec := info.Spec
	if !policy.ThinkingArg && !heartbeat {
		return spec
	}
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
		return spec // not an object schema, so nothing can be added
	}
	inner := bytes.TrimSpace(schema.Properties)
	inner = bytes.TrimSuffix(bytes.TrimPrefix(inner, []byte("{")), []byte("}"))
	var props [][]byte
	var required []string
	if policy.ThinkingArg {
		props = append(
			props,
			[]byte(`"`+ThinkingArg+`":{"type":"string","description":"What you think before you act; only you read it."}`),
		)
		required = append(required, ThinkingArg)
	}
	if len(bytes.TrimSpace(inner)) > 0 {
		props = append(props, inner)
	}
	required = append(required, schema.Required...)
	if heartbeat {
		props = append(props, []byte(`"`+heartbeatArg+`":{"type":"boolean","description":"True to act again right after this call."}`))
		required = append(required, heartbeatArg)
	}
	spec.Parameters = json.RawMessage(
		`{"type":"object","properties":{` + string(bytes.Join(props, []byte(","))) + `},"required":` + JSON(required) + `}`,
	)
	return spec
}

// Effective adapts a policy to a model: one that can't call tools isn't forced to, and can still chat; one that can't be forced to
// ends its turn with plain words, too, if it doesn't call where it should.
func Effective(p core.Policy, info core.ModelInfo) core.Policy {
	if info.Tools {
		p.TextEnds = p.TextEnds || !info.ForcedTools
		return p
	}
	p.ForceTool, p.TextEnds, p.Heartbeats, p.ThinkingArg, p.SpeakTool = false, true, false, false, ""
	return p
}

// SplitArguments takes the policy's own arguments out of a call's arguments: the call is stored and shown without its
// inner thoughts. The other keys keep their order.
func SplitArguments(text string) (rest string, thinking string, heartbeat bool) {
	dec := json.NewDecoder(bytes.NewReader([]byte(text)))
	if t, err := dec.Token(); err != nil || t != json.Delim('{') {
		return text, "", false
	}
	var out bytes.Buffer
	out.WriteByte('{')
	for dec.More() {
		key, err := dec.Token()
		if err != nil {
			return text, "", false
		}
		var value json.RawMessage
		if err := dec.Decode(&value); err != nil {
			return text, "", false
		}
		if key == ThinkingArg {
			if err := json.Unmarshal(value, &thinking); err == nil {
				continue
			}
		}
		if key == heartbeatArg {
			heartbeat = string(value) == "true" || string(value) == `"true"`
		}
		if out.Len() > 1 {
			out.WriteByte(',')
		}
		out.WriteString(JSON(key) + ":")
		out.Write(value)
	}
	if _, err := dec.Token(); err != nil {
		return text, "", false
	}
	out.WriteByte('}')
	return out.String(), thinking, heartbeat
}

// withThinking puts inner thoughts back where the model wrote them.
func withThinking(arguments, thinking string) string {
	inner := bytes.TrimSpace([]byte(arguments))
	if thinking == "" || len(inner) < 2 || inner[0] != '{' {
		return arguments
	}
	head := `{"` + ThinkingArg + `":` + JSON(thinking)
	if rest := bytes.TrimSpace(inner[1:]); rest[0] != '}' {
		head += ","
	}
	return head + string(inner[1:])
}

// ReadTools reads the tools stored in a snapshot.
func ReadTools(schema string) ([]core.ToolSpec, error) {
	var tools []core.ToolSpec
	if err := json.Unmarshal([]byte(schema), &tools); err != nil {
		return nil, core.E(core.Internal, "read the pinned tools: %w", err)
	}
	return tools, nil
}

// JSON encodes a value that is known to have a JSON form.
func JSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a bug: only our own plain structs get here
	}
	return string(b)
}
