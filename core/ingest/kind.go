package ingest

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"path"
	"strings"
	"sync"
	"time"
	"unicode/utf8"

	"loci/core"
)

// DefaultLimits returns the limits for reading one file.
func DefaultLimits() core.ParseLimits {
	return core.ParseLimits{
		Input:    50 << 20,
		Unpacked: 200 << 20,
		Ratio:    200,
		Parts:    5000,
		Pages:    5000,
		Depth:    100,
		Text:     20 << 20,
		Time:     time.Minute,
	}
}

// LimitsOr replaces zero fields of l with their defaults.
func LimitsOr(l core.ParseLimits) core.ParseLimits {
	d := DefaultLimits()
	or(&l.Input, d.Input)
	or(&l.Unpacked, d.Unpacked)
	or(&l.Ratio, d.Ratio)
	or(&l.Parts, d.Parts)
	or(&l.Pages, d.Pages)
	or(&l.Depth, d.Depth)
	or(&l.Text, d.Text)
	or(&l.Time, d.Time)
	return l
}

func or[T int | int64 | time.Duration](v *T, other T) {
	if *v <= 0 {
		*v = other
	}
}

// MaxNameBytes limits a file's name, path included.
const MaxNameBytes = 1024

// CheckName refuses a file name that could lead elsewhere: an absolute path, "..", a backslash, a drive, or control
// characters. A relative path of plain names is fine: mirrored folders have them.
func CheckName(name string) error {
	switch {
	case strings.TrimSpace(name) == "":
		return core.E(core.Invalid, "a file needs a name")
	case len(name) > MaxNameBytes:
		return core.E(core.Invalid, "the file name has %d bytes, more than the %d allowed", len(name), MaxNameBytes)
	case !utf8.ValidString(name):
		return core.E(core.Invalid, "the file name is not valid UTF-8")
	case strings.ContainsRune(name, '\\') || len(name) > 1 && name[1] == ':':
		return core.E(core.Invalid, "the file name %q holds a path", name).WithHint("give the name alone, or a path with /")
	}
	for _, r := range name {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' || r >= '\u202a' && r <= '\u202e' {
			return core.E(core.Invalid, "the file name %q holds control characters", name)
		}
	}
	for part := range strings.SplitSeq(name, "/") {
		if part == "" || part == "." || part == ".." {
			return core.E(core.Invalid, "the file name %q leads out of its folder", name).WithHint("give the name alone")
		}
	}
	return nil
}

// extensions maps file extensions to kinds; built on first use, because every command loads this package. Other
// extensions are detected by content.
var extensions = sync.OnceValue(func() map[string]core.FileKind {
	m := map[string]core.FileKind{
		".html": core.FileHTML, ".htm": core.FileHTML, ".xhtml": core.FileHTML,
		".pdf": core.FilePDF, ".docx": core.FileDOCX, ".epub": core.FileEPUB,
		".csv": core.FileCSV, ".tsv": core.FileCSV,
		".json": core.FileJSON, ".jsonl": core.FileJSON, ".ndjson": core.FileJSON, ".geojson": core.FileJSON, ".ipynb": core.FileJSON,
		".md": core.FileMarkdown, ".markdown": core.FileMarkdown, ".mdx": core.FileMarkdown, ".mkd": core.FileMarkdown,
		".txt": core.FileText, ".text": core.FileText, ".rst": core.FileText, ".adoc": core.FileText, ".org": core.FileText,
	}
	const code = "asm s bash bat c cc cfg clj cljs cmake conf cpp cs css cxx d dart diff dockerfile el elm env erl ex exs f90 fish fs " +
		"gitignore go gql gradle graphql groovy h hcl hpp hs ini java jl js jsx kt kts less lisp log lua m mk mod ml mm nim nix patch " +
		"php pl plist pm proto ps1 py pyi r rb rs sass scala scss sh sql sum svelte svg swift tcl tex tf toml ts tsx v vb vim vue xml " +
		"xsd xsl yaml yml zig zsh"
	for ext := range strings.FieldsSeq(code) {
		m["."+ext] = core.FileCode
	}
	return m
})

// codeName reports code files that have no telling extension.
func codeName(base string) bool {
	switch base {
	case "makefile", "dockerfile", "rakefile", "gemfile", "jenkinsfile", "vagrantfile", "procfile", "go.mod", "go.sum":
		return true
	}
	return false
}

// Detect determines a file's kind by its content first, since names lie, and by its name if the content doesn't tell. A
// file that can't be read is unsupported; one that isn't what its name promises is invalid.
func Detect(name string, data []byte) (core.FileKind, error) {
	base := strings.ToLower(path.Base(name))
	named := extensions()[path.Ext(base)]
	switch {
	case len(data) == 0:
		return "", core.E(core.Invalid, "the file %q is empty", name)
	case isPDF(data), named == core.FilePDF && bytes.Contains(data[:min(len(data), 1024)], []byte("%PDF-")):
		return core.FilePDF, nil
	case bytes.HasPrefix(data, []byte("PK\x03\x04")) || bytes.HasPrefix(data, []byte("PK\x05\x06")):
		return detectZip(name, named, data)
	case bytes.HasPrefix(data, []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1")):
		return "", unsupported(name, "an old or password-protected Office file").WithHint("save it as .docx without a password, or as PDF")
	case bytes.HasPrefix(data, []byte("{\\rtf")):
		return "", unsupported(name, "rich text").WithHint("save it as .docx or plain text")
	case !LooksLikeText(data):
		return "", unsupported(name, "binary").WithHint("text, Markdown, code, HTML, PDF, DOCX, CSV, JSON and EPUB can be read")
	}
	switch named {
	case core.FilePDF, core.FileDOCX, core.FileEPUB:
		return "", core.E(core.Invalid, "%q is not what its name promises: it holds plain text", name).
			WithHint("rename it to .txt if text is what it is")
	case core.FileText, core.FileMarkdown, core.FileCode, core.FileHTML, core.FileCSV, core.FileJSON:
		return named, nil
	}
	if codeName(base) || bytes.HasPrefix(data, []byte("#!")) {
		return core.FileCode, nil
	}
	return sniffText(data), nil
}

// isPDF allows a byte order mark or blanks before the header, as readers do.
func isPDF(data []byte) bool {
	head := bytes.TrimPrefix(data[:min(len(data), 64)], []byte("\xef\xbb\xbf"))
	return bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("%PDF-"))
}

func unsupported(name, what string) *core.Error {
	return core.E(core.Unsupported, "%q cannot be read: it is %s", name, what)
}

// sniffText tells kinds of text apart when the name doesn't.
func sniffText(data []byte) core.FileKind {
	head := bytes.ToLower(bytes.TrimSpace(data[:min(len(data), 1024)]))
	head = bytes.TrimPrefix(head, []byte("\xef\xbb\xbf"))
	switch {
	case bytes.HasPrefix(head, []byte("<!doctype html")), bytes.HasPrefix(head, []byte("<html")):
		return core.FileHTML
	case (bytes.HasPrefix(head, []byte("{")) || bytes.HasPrefix(head, []byte("["))) && json.Valid(data):
		return core.FileJSON
	}
	return core.FileText
}

// MaxZipParts limits how many files a container may list: reading the list itself takes memory.
const MaxZipParts = 20_000

func detectZip(name string, named core.FileKind, data []byte) (core.FileKind, error) {
	if bytes.Count(data, []byte("PK\x01\x02")) > MaxZipParts {
		return "", core.E(core.TooLarge, "%q holds more files than can be read", name)
	}
	z, err := zip.NewReader(bytes.NewReader(data), int64(len(data)))
	if err != nil {
		if named == core.FileDOCX || named == core.FileEPUB {
			return "", core.E(core.Invalid, "%q is damaged: %v", name, err)
		}
		return "", unsupported(name, "a damaged archive")
	}
	related, word := false, false
	for _, f := range z.File {
		switch {
		case f.Name == "META-INF/container.xml":
			return core.FileEPUB, nil
		case f.Name == "word/document.xml":
			return core.FileDOCX, nil
		case f.Name == "_rels/.rels":
			related = true
		case strings.HasPrefix(f.Name, "word/"):
			word = true
		}
	}
	if related && word { // some programs use another name for the part that holds the text
		return core.FileDOCX, nil
	}
	if named == core.FileDOCX || named == core.FileEPUB {
		return "", core.E(core.Invalid, "%q is damaged: the part that holds the text is missing", name)
	}
	return "", unsupported(name, "an archive").WithHint("unpack it and add the files")
}

// LooksLikeText reports whether bytes are text in UTF-8, UTF-16 with a byte order mark, or a single-byte encoding: no
// NULs and almost no control characters.
func LooksLikeText(data []byte) bool {
	if bytes.HasPrefix(data, []byte{0xff, 0xfe}) || bytes.HasPrefix(data, []byte{0xfe, 0xff}) {
		return len(data)%2 == 0
	}
	if bytes.IndexByte(data, 0) >= 0 {
		return false
	}
	control, high := 0, 0
	for _, b := range data {
		switch {
		case b < ' ' && b != '\n' && b != '\r' && b != '\t' && b != '\f' && b != 0x1b && b != '\b':
			control++
		case b >= 0x80:
			high++
		}
	}
	if utf8.Valid(data) {
		return control*100 <= len(data)
	}
	// Not UTF-8: a single-byte encoding has few high bytes and no control characters at all.
	return control == 0 && high*2 <= len(data)
}
