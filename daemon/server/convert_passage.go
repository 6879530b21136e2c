package server

import (
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
		ID: string(p.ID), CreatedAt: api.AtPtr(p.CreatedAt), UpdatedAt: api.AtPtr(p.UpdatedAt), ArchiveID: api.PtrTo(string(p.Archive)), Metadata: metadata,
		Tags: tags, Text: p.Text,
	}
}

// wireArchive converts an archive.
func wireArchive(a core.Archive) api.Archive {
	return api.Archive{
		ID: string(a.ID), Name: a.Name, CreatedAt: api.At(a.CreatedAt), UpdatedAt: api.AtPtr(a.UpdatedAt), Description: api.PtrTo(a.Description),
		VectorDBProvider: "native", Metadata: a.Metadata,
	}
}
