package server

import (
	"loci/core"
	"loci/core/engine"
	"loci/daemon/api"
)

// coreInput converts the messages of a request: either messages or input is given, and not both.
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
		if m.Content == nil {
			return nil, unprocessable("body.messages.content", "a message has a content")
		}
		text, err := coreText("body.messages.content", m.Content)
		if err != nil {
			return nil, err
		}
		out = append(out, engine.Input{Role: core.Role(m.Role), Text: text, Name: api.Val(m.Name), OTID: api.Val(m.OTID), SenderID: api.Val(m.SenderID)})
	}
	return out, nil
}

// coreText is the text of a content. Parts that are no text are refused rather than dropped.
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

// coreConfig converts what a request asks for beside its input.
func coreConfig(in api.Request, kind string) (core.RunConfig, error) {
	out := core.RunConfig{
		Model: core.Handle(api.Val(in.OverrideModel)), System: api.Val(in.OverrideSystem), Type: kind, IncludeCompaction: api.Val(in.IncludeCompactionMessages),
		Speak: speakOf(in.UseAssistantMessage, api.Val(in.AssistantMessageToolName), api.Val(in.AssistantMessageToolKwarg)),
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
	types, err := messageTypes("body.include_return_message_types", strs(in.IncludeReturnMessageTypes))
	if err != nil {
		return out, err
	}
	out.IncludeTypes = strs(types)
	return out, nil
}

// checkStreaming refuses options of streams on a request that does not stream.
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

// showsOf is what of a run its request wanted to see.
func showsOf(config core.RunConfig) shows {
	out := shows{speak: config.Speak, compaction: config.IncludeCompaction}
	for _, t := range config.IncludeTypes {
		out.types = append(out.types, api.MessageType(t))
	}
	return out
}
