// Package parsers reads files: bytes in, text with its headings and pages out. It is the adapter behind core.Parser.
//
// Every file is taken for hostile. Each format is read by something that honours bounds: size in and out, how far a
// part may inflate, nesting, pages, time. A broken or malicious file is refused with an error of its own and harms
// nothing else: nothing is written to disk, nothing is fetched, no goroutine outlives a call, a panic of a library is
// caught here. Parsers keep no state and may be used by many at once.
//
// HTML is read by golang.org/x/net/html (its tokenizer, which is linear and keeps no tree), DOCX and EPUB by
// archive/zip and encoding/xml, the structure of PDF by pdfcpu: of the PDF libraries in Go it is the one that is looked
// after, repairs damaged files, and takes limits and a context. It extracts no text, so the content streams are
// interpreted here.
package parsers

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/html/charset"

	"loci/core"
	"loci/core/ingest"
)

// Parsers reads every kind of file that Loci knows. The zero value works.
type Parsers struct{}

var _ core.Parser = Parsers{}

// New returns the parsers.
func New() Parsers { return Parsers{} }

// parseTask is the reading of one file.
type parseTask struct {
	ctx      context.Context // lives for one call of Parse
	name     string
	data     []byte
	address  *url.URL // as core.ParseInput has it
	limits   core.ParseLimits
	unpacked int64 // what was decompressed so far
}

// Parse implements core.Parser.
func (Parsers) Parse(ctx context.Context, in core.ParseInput) (doc core.Document, err error) {
	limits := ingest.LimitsOr(in.Limits)
	if err := ingest.CheckName(in.Name); err != nil {
		return core.Document{}, err
	}
	if n := int64(len(in.Data)); n > limits.Input {
		return core.Document{}, core.E(core.TooLarge, "%q has %s, more than the %s allowed", in.Name, size(n), size(limits.Input))
	}
	in.Data = recoded(in.Data, in.Charset)
	kind, err := ingest.Detect(in.Name, in.Data)
	if err != nil {
		return core.Document{}, err
	}
	ctx, cancel := context.WithTimeoutCause(ctx, limits.Time, core.E(core.Timeout, "reading %q took longer than %s", in.Name, limits.Time))
	defer cancel()
	j := &parseTask{ctx: ctx, name: in.Name, data: in.Data, address: in.Address, limits: limits}
	doc, err = j.read(kind)
	if err != nil {
		return core.Document{}, j.explain(kind, err)
	}
	doc.Kind = kind
	doc.Title = oneLine(doc.Title)
	return doc, j.check(doc)
}

// recoded is a text of a known encoding in UTF-8, with the mark that says so: a page may name another one in its head.
func recoded(data []byte, encoding string) []byte {
	known, _ := charset.Lookup(encoding)
	if known == nil {
		return data
	}
	text, err := known.NewDecoder().Bytes(data)
	if err != nil {
		return data
	}
	return append([]byte("\ufeff"), bytes.TrimPrefix(text, []byte("\ufeff"))...)
}

// read dispatches, and turns a panic into an error: a library that stumbles over a file must not take the daemon along.
func (j *parseTask) read(kind core.FileKind) (doc core.Document, err error) {
	defer func() {
		if p := recover(); p != nil {
			doc, err = core.Document{}, core.E(
				core.Invalid,
				"%q is damaged in a way that cannot be read: %s",
				j.name,
				firstWords(fmt.Sprint(p)),
			)
		}
	}()
	switch kind {
	case core.FileHTML:
		return j.html()
	case core.FilePDF:
		return j.pdf()
	case core.FileDOCX:
		return j.docx()
	case core.FileEPUB:
		return j.epub()
	case core.FileJSON:
		return j.json()
	case core.FileText, core.FileMarkdown, core.FileCode, core.FileCSV:
		return j.text(kind)
	}
	return core.Document{}, core.E(core.Unsupported, "%q cannot be read", j.name)
}

// explain gives an error of a library a kind and the file's name.
func (j *parseTask) explain(kind core.FileKind, err error) error {
	var e *core.Error
	switch {
	case j.ctx.Err() != nil:
		return context.Cause(j.ctx)
	case errors.As(err, &e):
		return err
	}
	return core.E(
		core.Invalid,
		"%q is damaged and cannot be read as %s: %s",
		j.name,
		strings.ToUpper(string(kind)),
		firstWords(err.Error()),
	)
}

// check asserts what a Document promises.
func (j *parseTask) check(doc core.Document) error {
	switch {
	case len(doc.Text) > j.limits.Text:
		return j.tooMuchText()
	case strings.TrimSpace(doc.Text) == "":
		e := core.E(core.Invalid, "%q holds no text", j.name)
		switch doc.Kind {
		case core.FilePDF:
			return e.WithHint("if its pages are scanned pictures, run text recognition on it first")
		case core.FileDOCX, core.FileEPUB:
			return e.WithHint("if it holds pictures alone, run text recognition on them first")
		case core.FileText, core.FileMarkdown, core.FileCode, core.FileHTML, core.FileCSV, core.FileJSON:
		}
		return e
	case !utf8.ValidString(doc.Text):
		return core.E(core.Internal, "the text read from %q is not valid UTF-8", j.name)
	}
	return nil
}

func (j *parseTask) tooMuchText() error {
	return core.E(core.TooLarge, "the text of %q is longer than the %s allowed", j.name, size(int64(j.limits.Text))).
		WithHint("split the file")
}

func (j *parseTask) tooDeep() error {
	return core.E(core.Invalid, "%q nests deeper than the %d levels allowed", j.name, j.limits.Depth)
}

func size(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}

// firstWords keeps a foreign error readable: one line of it, cut.
func firstWords(s string) string {
	s = strings.ToValidUTF8(oneLine(s), "?")
	if r := []rune(s); len(r) > 200 {
		return string(r[:200]) + " …"
	}
	return s
}

func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }
