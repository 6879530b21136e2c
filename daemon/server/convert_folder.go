package server

import (
	"cmp"
	"mime"
	"path"
	"strings"
	"time"

	"loci/core"
	"loci/core/service"
	"loci/daemon/api"
)

func wireFolder(f core.Folder) api.Folder {
	return api.Folder{
		ID: string(
			f.ID,
		),
		Name:            f.Name,
		Description:     api.PtrTo(f.Description),
		Instructions:    api.PtrTo(f.Instructions),
		Metadata:        f.Metadata,
		EmbeddingConfig: *wireEmbedding(f.Embedding),
		CreatedAt:       api.AtPtr(f.CreatedAt),
		UpdatedAt:       api.AtPtr(f.UpdatedAt),
	}
}

func wireSource(f core.Folder) api.Source {
	return api.Source{Folder: wireFolder(f), VectorDBProvider: "native"}
}

// embeddingOf returns the embedding that a folder requests, by handle or in the deprecated configuration.
func embeddingOf(handle *string, config *api.EmbeddingConfig) core.Handle {
	switch {
	case handle != nil:
		return core.Handle(*handle)
	case config == nil:
		return ""
	case api.Val(config.Handle) != "":
		return core.Handle(*config.Handle)
	case config.EmbeddingModel == "":
		return ""
	}
	return core.Handle(config.EmbeddingEndpointType + "/" + config.EmbeddingModel)
}

// coreFolderPatch leaves fields alone that are null, except texts, which null empties.
func coreFolderPatch(in api.UpdateFolder) service.FolderPatch {
	out := service.FolderPatch{
		Description: opt(
			in.Description,
		),
		Instructions: opt(in.Instructions),
		Metadata:     optAs(in.Metadata, func(o api.Object) map[string]any { return o }),
	}
	if name, ok := in.Name.Get(); ok {
		out.Name = core.Some(name)
	}
	if config, ok := in.EmbeddingConfig.Get(); ok {
		out.Embedding = core.Some(embeddingOf(nil, &config))
	}
	return out
}

// wireFile converts a file; text is nil unless it was requested.
func wireFile(f core.File, text *string) api.File {
	return api.File{
		ID: string(
			f.ID,
		),
		SourceID:         string(f.Folder),
		FileName:         &f.Name,
		OriginalFileName: api.PtrTo(f.Original),
		FileType:         api.PtrTo(cmp.Or(f.MIME, mimeOf(f))),
		FileSize:         &f.Size,
		FileLastModifiedDate: api.PtrTo(
			stamp(f.ModifiedAt),
		),
		FileCreationDate: api.PtrTo(stamp(f.CreatedAt)),
		ProcessingStatus: string(f.Status),
		ErrorMessage:     api.PtrTo(f.Error),
		TotalChunks:      &f.Chunks,
		ChunksEmbedded:   &f.Embedded,
		Content:          text,
		CreatedAt:        api.AtPtr(f.CreatedAt),
		UpdatedAt:        api.AtPtr(f.UpdatedAt),
	}
}

func stamp(t time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.UTC().Format(time.RFC3339)
}

// mimeOf derives a file's media type from its kind if the uploader gave none.
func mimeOf(f core.File) string {
	switch f.Kind {
	case core.FileMarkdown:
		return "text/markdown"
	case core.FileHTML:
		return "text/html"
	case core.FilePDF:
		return "application/pdf"
	case core.FileDOCX:
		return "application/vnd.openxmlformats-officedocument.wordprocessingml.document"
	case core.FileCSV:
		return "text/csv"
	case core.FileJSON:
		return "application/json"
	case core.FileEPUB:
		return "application/epub+zip"
	case core.FileCode:
		if t, _, err := mime.ParseMediaType(mime.TypeByExtension(path.Ext(f.Name))); err == nil && strings.HasPrefix(t, "text/") {
			return t
		}
	case core.FileText:
	}
	return "text/plain"
}

// wireChunk converts a passage that is part of a file.
func wireChunk(p core.Passage, folder core.FolderID, name string) api.Passage {
	out := wirePassage(p)
	out.ArchiveID, out.SourceID, out.FileID, out.FileName = nil, api.PtrTo(string(folder)), api.PtrTo(string(p.File)), api.PtrTo(name)
	return out
}

func wireAgentFile(f service.AgentFile) api.AgentFile {
	out := api.AgentFile{
		ID: "file_agent-" + strings.TrimPrefix(
			string(f.File.ID),
			"file-",
		),
		FileID:   string(f.File.ID),
		FileName: core.FileName(&f.Folder, &f.File),
		FolderID: string(
			f.Folder.ID,
		),
		FolderName:     f.Folder.Name,
		IsOpen:         f.Open.Open,
		LastAccessedAt: api.AtPtr(f.Open.UsedAt),
		VisibleContent: api.PtrTo(f.View),
	}
	if f.Open.Open && f.Open.Start > 0 {
		out.StartLine, out.EndLine = &f.Open.Start, api.PtrTo(f.Open.End)
	}
	return out
}

// wireFileBlock shows an open file the way the deprecated copy of an agent's memory does.
func wireFileBlock(f service.AgentFile, limit int) api.FileBlock {
	label := core.FileName(&f.Folder, &f.File)
	return api.FileBlock{
		Block: api.Block{
			ID:       "block-" + strings.TrimPrefix(string(f.File.ID), "file-"),
			Label:    &label,
			Value:    f.View,
			Limit:    limit,
			ReadOnly: true,
		},
		FileID:         string(f.File.ID),
		SourceID:       string(f.Folder.ID),
		IsOpen:         f.Open.Open,
		LastAccessedAt: api.AtPtr(f.Open.UsedAt),
	}
}

func wireFileHit(h service.FileHit, partial bool) api.FileResult {
	number := func(key string) int {
		switch n := h.Passage.Metadata[key].(type) {
		case float64: // read back from JSON
			return int(n)
		case int:
			return n
		}
		return 0
	}
	out := api.FileResult{
		FolderID: string(
			h.Folder.ID,
		),
		FolderName: h.Folder.Name,
		FileID:     string(h.File.ID),
		FileName:   h.File.Name,
		PassageID:  string(h.Passage.ID),
		Line: number(
			"line",
		),
		EndLine: number("end_line"),
		Page:    number("page"),
		EndPage: number("end_page"),
		Text:    h.Passage.Text,
		Excerpt: h.Excerpt(),
		Score:   h.Score,
		Why:     wireWhy(h.Words, h.Why, partial),
	}
	if headings, ok := h.Passage.Metadata["path"].([]any); ok {
		for _, one := range headings {
			if text, ok := one.(string); ok {
				out.Path = append(out.Path, text)
			}
		}
	}
	return out
}
