package server

import (
	"slices"

	"loci/core"
	"loci/daemon/api"
)

func wireVersion(v core.BlockVersion) api.BlockVersion {
	out := api.BlockVersion{
		BlockID: string(v.Block), Version: v.Version, Label: v.Label, Value: v.Value, Description: v.Description, Limit: v.Limit,
		Author: string(v.Author.Kind), AuthorID: api.PtrTo(v.Author.ID), StepID: api.PtrTo(string(v.Author.Step)),
		RewindID: api.PtrTo(string(v.Author.Rewind)), Source: api.PtrTo(v.Author.Source), CreatedAt: api.At(v.At),
	}
	if v.Author.Restores > 0 {
		out.Restores = &v.Author.Restores
	}
	return out
}

func wireRewind(r core.Rewind) api.Rewind {
	return api.Rewind{
		ID: string(r.ID), AgentID: string(r.Agent), ConversationID: string(r.Conversation), StepID: api.PtrTo(string(r.Step)),
		Undoes: api.PtrTo(string(r.Undoes)), Before: r.Before, Shared: r.Shared, BlockIDs: strs(r.Blocks), PassagesTaken: len(r.Taken),
		PassagesReturned: len(r.Brought) + len(r.Turned), Missing: r.Missing, CreatedAt: api.At(r.CreatedAt),
		What: wireParts(&r), Files: wireFiles(r.Files), FilesPending: r.Unfinished,
	}
}

func wireParts(r *core.Rewind) (out []api.RewindPart) {
	for _, part := range core.RewindParts() {
		if r.Took(part) {
			out = append(out, api.RewindPart(part))
		}
	}
	return out
}

// rewindParts converts the parts that a request names, each once.
func rewindParts(in []api.RewindPart) (out []core.RewindPart, err error) {
	for _, part := range in {
		p := core.RewindPart(part)
		if !slices.Contains(core.RewindParts(), p) {
			return nil, core.E(core.Invalid, "%q is no part of a rewind; what may be thread, memory and files", string(p))
		}
		if !slices.Contains(out, p) {
			out = append(out, p)
		}
	}
	return out, nil
}

func wireFiles(f core.FilesBack) api.RewindOfFiles {
	out := api.RewindOfFiles{Back: f.Back, More: f.More}
	for _, k := range f.Kept {
		out.Kept = append(out.Kept, api.FileKept{Path: k.Path, Why: k.Why})
	}
	return out
}

// wireSent converts what a step sent.
func wireSent(step string, req core.ChatRequest) api.SentRequest {
	out := api.SentRequest{
		StepID:     step,
		Model:      req.Model,
		System:     req.System,
		Messages:   []api.SentMessage{},
		Tools:      []api.SentTool{},
		ToolChoice: string(req.Choice.Mode),
		ToolNamed:  req.Choice.Name,
		Parallel:   req.Parallel,
		Settings:   asMap(req.Settings),
		Window:     req.Window,
		Prefix:     req.Prefix,
	}
	delete(out.Settings, "wire") // the settings as a client sent them aren't part of a request
	for _, t := range req.Tools {
		out.Tools = append(out.Tools, api.SentTool{Name: t.Name, Description: t.Description, Parameters: wireParameters(t)})
	}
	for _, m := range req.Messages {
		sent := api.SentMessage{Role: string(m.Role), Text: m.Text, Name: m.Name, Reasoning: m.Reasoning}
		for _, c := range m.Calls {
			sent.Calls = append(sent.Calls, api.SentCall{ID: c.ID, Name: c.Name, Arguments: c.Arguments})
		}
		for _, r := range m.Returns {
			back := api.SentReturn{CallID: r.CallID, Name: r.Name, Text: r.Text, IsError: r.IsError}
			for _, p := range r.Pictures {
				back.Images = append(back.Images, api.SentImage{FileID: p.ID(), About: p.String(), At: len(r.Text)})
			}
			sent.Returns = append(sent.Returns, back)
		}
		for _, p := range m.Pictures {
			sent.Images = append(sent.Images, api.SentImage{FileID: p.ID(), About: p.String(), At: p.At})
		}
		if m.Native != nil {
			sent.Native = m.Native.Data
		}
		out.Messages = append(out.Messages, sent)
	}
	return out
}
