package engine

import (
	"bytes"
	"encoding/json"

	"loci/core"
)

// The arguments that a policy adds to tools.
const (
	thinkingArg  = "thinking"
	heartbeatArg = "request_heartbeat"
)

// policySpec is a tool as an agent's model is told of it: where the policy has inner thoughts they are a leading
// argument, and with heartbeat it takes request_heartbeat.
func policySpec(info core.ToolInfo, policy core.Policy, heartbeat bool) core.ToolSpec {
	spec := info.Spec
	if !policy.ThinkingArg && !heartbeat {
		return spec
	}
	var schema struct {
		Properties json.RawMessage `json:"properties"`
		Required   []string        `json:"required"`
	}
	if err := json.Unmarshal(spec.Parameters, &schema); err != nil {
		return spec // not an object schema: nothing can be added
	}
	inner := bytes.TrimSpace(schema.Properties)
	inner = bytes.TrimSuffix(bytes.TrimPrefix(inner, []byte("{")), []byte("}"))
	var props [][]byte
	var required []string
	if policy.ThinkingArg {
		props = append(props, []byte(`"`+thinkingArg+`":{"type":"string","description":"What you think before you act; only you read it."}`))
		required = append(required, thinkingArg)
	}
	if len(bytes.TrimSpace(inner)) > 0 {
		props = append(props, inner)
	}
	required = append(required, schema.Required...)
	if heartbeat {
		props = append(props, []byte(`"`+heartbeatArg+`":{"type":"boolean","description":"True to act again right after this call."}`))
		required = append(required, heartbeatArg)
	}
	spec.Parameters = json.RawMessage(`{"type":"object","properties":{` + string(bytes.Join(props, []byte(","))) + `},"required":` + mustJSON(required) + `}`)
	return spec
}

// effective is the policy towards a model: one that cannot call tools is not made to, and still chats.
func effective(p core.Policy, info core.ModelInfo) core.Policy {
	if info.Tools {
		return p
	}
	p.ForceTool, p.TextEnds, p.Heartbeats, p.ThinkingArg, p.SpeakTool = false, true, false, false, ""
	return p
}

// splitArguments takes the policy's own arguments out of a call's arguments: what is stored and shown is the call
// without its inner thoughts. The order of the other keys is kept.
func splitArguments(text string) (rest string, thinking string, heartbeat bool) {
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
		if key == thinkingArg {
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
		out.WriteString(mustJSON(key) + ":")
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
	head := `{"` + thinkingArg + `":` + mustJSON(thinking)
	if rest := bytes.TrimSpace(inner[1:]); rest[0] != '}' {
		head += ","
	}
	return head + string(inner[1:])
}
