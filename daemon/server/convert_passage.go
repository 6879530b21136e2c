package server

import (
	"maps"

	"loci/core"
	"loci/daemon/api"
)

// wirePassage converts a passage. Its vector is never shown.
func wirePassage(p core.Passage) api.Passage {
	tags := p.Tags
	if tags == nil {
		tags = []string{}
	}
	metadata := p.Metadata
	if metadata == nil {
		metadata = map[string]any{}
	}
	return api.Passage{
		ID: string(
			p.ID,
		),
		CreatedAt: api.AtPtr(p.CreatedAt),
		UpdatedAt: api.AtPtr(p.UpdatedAt),
		ArchiveID: api.PtrTo(string(p.Archive)),
		Metadata:  metadata,
		Tags:      tags,
		Text:      p.Text,
	}
}

// wireWhy explains why something was found: the query words in its own text, words there that are near them in meaning, the
// query words in neighbouring messages, whether the query names its speaker or time, by how many standard deviations its
// embedding stands out, and whether the
// search missed what wasn't indexed yet.
func wireWhy(words []string, why core.Why, partial bool) api.Object {
	out := api.Object{}
	if len(words) > 0 {
		out["words"] = words
	}
	if len(why.Also) > 0 {
		out["also"] = why.Also
	}
	if len(why.Inherited) > 0 {
		inherited := make([]api.Object, len(why.Inherited))
		for i, from := range why.Inherited {
			inherited[i] = api.Object{"from": from.From, "words": from.Words}
		}
		out["inherited"] = inherited
	}
	for key, is := range map[string]bool{"speaker": why.Speaker, "date": why.Date, "partial": partial, "words_only": why.NoModel} {
		if is {
			out[key] = true
		}
	}
	if why.Vector > 0 {
		out["vector"] = why.Vector
	}
	return out
}

// wireArchive converts an archive.
func wireArchive(a core.Archive) api.Archive {
	metadata := a.Metadata
	if a.Wanted != "" { // what was requested but unreachable, so the built-in embedding is used
		metadata = maps.Clone(metadata)
		if metadata == nil {
			metadata = map[string]any{}
		}
		metadata[api.NotReachable] = string(a.Wanted)
	}
	return api.Archive{
		ID: string(
			a.ID,
		),
		Name:             a.Name,
		CreatedAt:        api.At(a.CreatedAt),
		UpdatedAt:        api.AtPtr(a.UpdatedAt),
		Description:      api.PtrTo(a.Description),
		VectorDBProvider: "native",
		Metadata:         metadata,
		EmbeddingConfig:  wireEmbedding(a.Embedding),
		OrganizationID:   api.DefaultOrg,
	}
}

// wireEmbedding converts an embedding's handle; empty is the built-in one.
func wireEmbedding(h core.Handle) *api.EmbeddingConfig {
	dim := 0 // known once the model has answered
	if h == "" || h == core.WordsHandle {
		h, dim = core.WordsHandle, core.WordsDim
	}
	provider, model, _ := h.Split()
	return &api.EmbeddingConfig{
		EmbeddingEndpointType: listedType(api.EmbeddingTypes(), provider),
		EmbeddingModel:        model,
		EmbeddingDim:          dim,
		Handle:                api.PtrTo(string(h)),
	}
}
