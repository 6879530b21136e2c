package server

import (
	"strings"

	"loci/core"
	"loci/core/engine"
	"loci/daemon/api"
)

// coreInput converts the messages of a request, which must be in either messages or input, not both.
func coreInput(in api.Request) ([]engine.Input, error) {
	switch {
	case in.Input != nil && len(in.Messages) > 0:
		return nil, unprocessable("body", "give either messages or input, not both")
	case in.Input != nil:
		text, err := coreText("body.input", in.Input)
		return []engine.Input{{Role: core.RoleUser, Text: text}}, err
	case len(in.Messages) == 0:
		return nil, unprocessable("body.messages", "give messages or input")
	}
	var out []engine.Input
	for _, m := range in.Messages {
		if m.Kind() != api.InputMessage {
			return nil, core.E(core.Invalid, "Cannot process approval response: No tool call is currently awaiting approval.")
		}
		if m.Role != "user" && m.Role != "system" && m.Role != "assistant" {
			return nil, unprocessable("body.messages.role", "%q is not user, system or assistant", m.Role)
		}
		content := m.Said()
		if content == nil {
			return nil, unprocessable("body.messages.content", "a message has a content")
		}
		text, err := coreText("body.messages.content", content)
		if err != nil {
			return nil, err
		}
		out = append(
			out,
			engine.Input{Role: core.Role(m.Role), Text: text, Name: api.Val(m.Name), OTID: api.Val(m.OTID), SenderID: api.Val(m.SenderID)},
		)
	}
	return out, nil
}

// coreText returns the text of a content. Parts that aren't text are rejected rather than dropped.
func coreText(location string, c *api.Content) (string, error) {
	for _, p := range c.Parts {
		switch p.Type {
		case api.PartText, "":
		case api.PartImage:
			return "", core.E(core.Unsupported, "images are not built yet")
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
	if len(in.ClientTools) > 0 {
		return out, core.E(core.Unsupported, "tools that the client runs are not built yet")
	}
	err := checkLogprobs(in.ReturnLogprobs, in.TopLogprobs, in.ReturnTokenIDs)
	if err != nil {
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
