package core

import (
	"context"
	"net/url"
	"time"
)

// FileKind says how a file is read, split and shown.
type FileKind string

// The kinds of files that can be read.
const (
	FileText     FileKind = "text"
	FileMarkdown FileKind = "markdown"
	FileCode     FileKind = "code" // source code and everything else whose lines matter
	FileHTML     FileKind = "html"
	FilePDF      FileKind = "pdf"
	FileDOCX     FileKind = "docx"
	FileCSV      FileKind = "csv"
	FileJSON     FileKind = "json"
	FileEPUB     FileKind = "epub"
)

// Parser turns a file into text. It never panics and always returns within the limits: a file that breaks them, or is
// broken itself, is refused with an error of a kind (invalid, unsupported, too_large, timeout) that a person can read.
type Parser interface {
	Parse(ctx context.Context, in ParseInput) (Document, error)
}

// ParseInput is a file to parse. Name is the file's name without a folder; it helps to detect the type.
type ParseInput struct {
	Name    string
	Data    []byte
	Charset string      // of a text, as a server named it; empty, or one that nobody knows: what the file says itself
	Address *url.URL    // of a page whose links are kept, in the manner of Markdown; nil: they are left out
	Limits  ParseLimits // a zero field means its default
}

// ParseLimits bounds what parsing one file may take.
type ParseLimits struct {
	Input    int64         // bytes of the file
	Unpacked int64         // bytes decompressed on the way, in total
	Ratio    int64         // unpacked to packed bytes of one part, once the part is larger than a megabyte
	Parts    int           // files in a container, object streams in a PDF
	Pages    int           // pages of a PDF, chapters of a book
	Depth    int           // nesting of anything that nests
	Text     int           // bytes of the text that comes out
	Time     time.Duration // for the whole file
}

// Document is the text of a file and how it is divided. Text is valid UTF-8 with lines ended by a single newline.
// Sections are consecutive and cover Text without gaps; there is at least one unless Text is empty.
type Document struct {
	Kind     FileKind  `json:"kind"`
	Title    string    `json:"title,omitempty"`
	Text     string    `json:"text"`
	Sections []Section `json:"sections,omitempty"`
	Pages    int       `json:"pages,omitempty"` // 0 if the format has none
}

// Section is part of a document's text: what comes under a heading, or on a page.
type Section struct {
	Path    []string `json:"path,omitempty"` // headings above the text, outermost first
	Start   int      `json:"start"`          // first byte
	End     int      `json:"end"`            // after the last byte
	Line    int      `json:"line"`           // line of the first byte, from 1
	EndLine int      `json:"end_line"`       // line of the last byte
	Page    int      `json:"page,omitempty"` // from 1; 0 if the format has none
}
