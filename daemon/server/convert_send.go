package server

import (
	"encoding/json"
	"strings"

	"loci/core"
	"loci/core/engine"
	"loci/daemon/api"
)

// coreInput converts the messages of a request, which must be in either messages or input, not both. An answer to what waits
// for an approval may stand first, and then alone.
func coreInput(in api.Request, answer *engine.Answer, take takes) ([]engine.Input, *engine.Answer, error) {
	messages := in.Messages
	switch {
	case in.Input != nil && len(messages) > 0:
		return nil, nil, unprocessable("body", "give either messages or input, not both")
	case in.Input != nil:
		text, content, err := coreContent("body.input", in.Input, take)
		return []engine.Input{{Role: core.RoleUser, Text: text, Content: content}}, answer, err
	case len(messages) == 0 && answer == nil:
		return nil, nil, unprocessable("body.messages", "give messages or input")
	}
	if answer == nil && messages[0].Kind() != api.InputMessage {
		var err error
		if answer, err = coreAnswer(messages[0], take); err != nil {
			return nil, nil, err
		}
		messages = messages[1:]
	}
	var out []engine.Input
	for _, m := range messages {
		input, err := coreMessage(m, take)
		if err != nil {
			return nil, nil, err
		}
		out = append(out, input)
	}
	return out, answer, nil
}

func coreMessage(m api.Input, take takes) (engine.Input, error) {
	if m.Kind() != api.InputMessage {
		return engine.Input{}, unprocessable("body.messages", "an answer to a request for approval stands before all other messages")
	}
	if m.Role != "user" && m.Role != "system" && m.Role != "assistant" {
		return engine.Input{}, unprocessable("body.messages.role", "%q is not user, system or assistant", m.Role)
	}
	content := m.Said()
	if content == nil {
		return engine.Input{}, unprocessable("body.messages.content", "a message has a content")
	}
	text, all, err := coreContent("body.messages.content", content, take)
	return engine.Input{
		Role: core.Role(m.Role), Text: text, Content: all, Name: api.Val(m.Name), OTID: api.Val(m.OTID), SenderID: api.Val(m.SenderID),
	}, err
}

// coreAnswer converts an answer in each of the contract's forms: a batch, the results of tools that the client ran, and the
// one decision that clients from before batches send.
func coreAnswer(m api.Input, take takes) (*engine.Answer, error) {
	var decisions []api.Decision
	switch {
	case m.Kind() == api.InputToolReturn:
		for _, r := range m.ToolReturns {
			decisions = append(decisions, api.Decision{
				Type: api.ApprovalReturn, ToolCallID: r.ToolCallID, ToolReturn: &r.ToolReturn, Status: r.Status,
				Stdout: r.Stdout, Stderr: r.Stderr,
			})
		}
	case len(m.Approvals) == 0 && m.Approve != nil:
		decisions = []api.Decision{{ToolCallID: api.Val(m.ApprovalRequestID), Approve: m.Approve, Reason: m.Reason}}
	default:
		for _, a := range m.Approvals {
			decisions = append(decisions, api.Decision{
				Type: a.Type, ToolCallID: a.ToolCallID, Approve: a.Approve, Reason: a.Reason,
				ToolReturn: a.ToolReturn, Status: a.Status, Stdout: a.Stdout, Stderr: a.Stderr,
			})
		}
	}
	return coreDecisions(decisions, api.Val(m.OTID), take)
}

func coreDecisions(in []api.Decision, otid string, take takes) (*engine.Answer, error) {
	out := &engine.Answer{OTID: otid}
	for _, d := range in {
		one := engine.Decision{Request: core.MessageID(d.RequestID), Hash: d.Hash}
		one.CallID, one.Reason, one.Arguments = d.ToolCallID, api.Val(d.Reason), api.Val(d.Arguments)
		one.Uncaged = d.Uncaged
		switch {
		case d.Type == api.ApprovalReturn || d.Type == "" && d.ToolReturn != nil:
			if d.ToolReturn == nil {
				return nil, unprocessable("body.approvals.tool_return", "the result of a tool has a tool_return")
			}
			text, content, err := coreContent("body.approvals.tool_return", d.ToolReturn, take)
			if err != nil {
				return nil, err
			}
			one.Return = &core.ToolReturn{
				Text: text, IsError: d.Status == api.StatusError, Stdout: d.Stdout, Stderr: d.Stderr, Images: coreImages(content),
			}
		case d.Approve == nil:
			return nil, unprocessable("body.approvals.approve", "a decision has approve")
		default:
			one.Approve = *d.Approve
		}
		out.Decisions = append(out.Decisions, one)
	}
	return out, nil
}

// coreText returns the text of a content. Parts that aren't text are rejected rather than dropped.
func coreText(location string, c *api.Content) (string, error) {
	for _, p := range c.Parts {
		switch p.Type {
		case api.PartText, "":
		case api.PartImage:
			return "", core.E(core.Unsupported, "only messages that are sent to an agent hold images")
		default:
			return "", unprocessable(location, "a part of type %q is not an input", p.Type)
		}
	}
	return c.String(), nil
}

// coreConfig converts everything in a request besides its input.
func coreConfig(in api.Request, kind string) (core.RunConfig, error) {
	out := core.RunConfig{
		Model: core.Handle(
			api.Val(in.OverrideModel),
		),
		System:            api.Val(in.OverrideSystem),
		Effort:            api.Val(in.OverrideEffort),
		Type:              kind,
		IncludeCompaction: api.Val(in.IncludeCompactionMessages),
		Speak:             speakOf(in.UseAssistantMessage, api.Val(in.AssistantMessageToolName), api.Val(in.AssistantMessageToolKwarg)),
	}
	if in.MaxSteps != nil {
		if *in.MaxSteps < 1 {
			return out, unprocessable("body.max_steps", "max_steps must be at least 1")
		}
		out.MaxSteps = *in.MaxSteps
	}
	if out.Model != "" {
		if err := out.Model.Validate(); err != nil {
			return out, err
		}
	}
	var err error
	if err := checkFormat("body.override_response_format", in.OverrideResponseFormat); err != nil {
		return out, err
	}
	if in.OverrideResponseFormat != nil {
		out.ResponseFormat = asMap(in.OverrideResponseFormat)
	}
	if out.Tokens, err = coreTokens(in, kind); err != nil {
		return out, err
	}
	if out.ClientTools, err = coreClientTools(in.ClientTools); err != nil {
		return out, err
	}
	if out.Skills, err = coreSkills(in.ClientSkills); err != nil {
		return out, err
	}
	types, err := messageTypes("body.include_return_message_types", strs(in.IncludeReturnMessageTypes))
	if err != nil {
		return out, err
	}
	out.IncludeTypes = strs(types)
	return out, nil
}

// Limits on the skills of a request.
const (
	maxSkills     = 200
	maxSkillChars = 4000
)

// coreSkills converts the skills that the client offers.
func coreSkills(in []api.ClientSkill) ([]core.Skill, error) {
	if len(in) > maxSkills {
		return nil, core.E(core.TooLarge, "a request may offer at most %d skills", maxSkills)
	}
	var out []core.Skill
	for _, s := range in {
		if strings.TrimSpace(s.Name) == "" {
			return nil, unprocessable("body.client_skills.name", "a skill has a name")
		}
		if len(s.Name)+len(s.Description)+len(s.Location) > maxSkillChars {
			return nil, core.E(core.TooLarge, "the skill %q has more than %d characters", clipped(s.Name), maxSkillChars)
		}
		out = append(out, core.Skill(s))
	}
	return out, nil
}

// Limits on the tools that a request brings.
const (
	maxClientTools     = 200
	maxClientToolBytes = 100_000
)

// noParameters is the schema of a tool that takes none.
const noParameters = `{"type":"object","properties":{}}`

// coreClientTools converts the tools that the client runs itself.
func coreClientTools(in []api.ClientTool) ([]core.ToolSpec, error) {
	if len(in) > maxClientTools {
		return nil, core.E(core.TooLarge, "a request may bring at most %d tools", maxClientTools)
	}
	var out []core.ToolSpec
	seen := map[string]bool{}
	for _, t := range in {
		if !core.LegalToolName(t.Name) || seen[t.Name] {
			return nil, unprocessable("body.client_tools.name", "%q is no name for a tool, or two tools have it", clipped(t.Name))
		}
		seen[t.Name] = true
		spec := core.ToolSpec{Name: t.Name, Description: api.Val(t.Description), Parameters: json.RawMessage(noParameters)}
		if t.Parameters != nil {
			var err error
			if spec.Parameters, err = json.Marshal(t.Parameters); err != nil {
				return nil, unprocessable("body.client_tools.parameters", "the parameters of %s are no JSON schema", t.Name)
			}
		}
		if len(spec.Description)+len(spec.Parameters) > maxClientToolBytes {
			return nil, core.E(core.TooLarge, "the tool %s has more than %d bytes", t.Name, maxClientToolBytes)
		}
		out = append(out, spec)
	}
	return out, nil
}

// checkStreaming rejects streaming options on a request that doesn't stream.
func checkStreaming(in api.StreamingRequest) error {
	switch {
	case api.Val(in.StreamTokens):
		return unprocessable("body.stream_tokens", "stream_tokens needs streaming")
	case api.Val(in.Background):
		return unprocessable("body.background", "background needs streaming")
	case in.IncludePings != nil && !*in.IncludePings:
		return unprocessable("body.include_pings", "include_pings can only be switched off with streaming")
	}
	return nil
}

// showsOf returns what its request wanted to see of a run.
func showsOf(config core.RunConfig) shows {
	out := shows{speak: config.Speak, compaction: config.IncludeCompaction}
	for _, t := range config.IncludeTypes {
		out.types = append(out.types, api.MessageType(t))
	}
	return out
}
