package service

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"loci/core"
	"loci/core/ingest"
	"loci/storage"
	"loci/tools/parsers/parserstest"
)

// documents is a folder with documents that others made:
//
//	.ci/documents /tmp/documents
//	go test ./core/service -run SentencesOfRealDocuments -documents /tmp/documents
var documents = flag.String("documents", "", "a folder that .ci/documents filled")

// inDocument is a sentence of a document that somebody else made and where it stands: the line that views, grep and search
// call it by, the headings above it, and the page.
type inDocument struct {
	name string
	kind core.FileKind
	says string
	line int
	path string // joined by /
	page int
}

func inDocuments() []inDocument {
	return []inDocument{
		{
			"alice.epub",
			core.FileEPUB,
			`"Curiouser and curiouser!" cried Alice`,
			79,
			"ALICE'S ADVENTURES IN WONDERLAND/II—THE POOL OF TEARS",
			0,
		},
		{
			"alice.epub",
			core.FileEPUB,
			"\"ORANGE MARMALADE,\" but, to her great disappointment, it was empty",
			34,
			"ALICE'S ADVENTURES IN WONDERLAND/I—DOWN THE RABBIT-HOLE",
			0,
		},
		{"alice.epub", core.FileEPUB, "Release Date: August 12, 2006 [EBook #19033]", 7, "", 0},
		{"moby-dick.epub", core.FileEPUB, "Call me Ishmael.", 346, "Chapter 1. Loomings.", 0},
		{"moby-dick.epub", core.FileEPUB, "from hell’s heart I stab at thee", 9052, "Chapter 135. The Chase.—Third Day.", 0},
		{
			"example-v3.epub",
			core.FileEPUB,
			"No part of this book may be reproduced in any form",
			10,
			"Unnamed Document/Anonymous/© Anonymous, 1980",
			0,
		},
		{"footnotes.docx", core.FileDOCX, "A tachyon walks into a bar.", 2, "", 0},
		{"tables.docx", core.FileDOCX, "| Bottom left | Bottom right |", 3, "", 0},
		{"use-template.docx", core.FileDOCX, "| row 3 col 1 | row 3 col 2 |", 25, "Major Section/Minor Section", 0},
		{"use-template.docx", core.FileDOCX, "Document Subtitle", 2, "My Document Title", 0},
		{"numbering.docx", core.FileDOCX, "2. Nested A 1.2.ii", 5, "", 0},
		{"sample_2.docx", core.FileDOCX, "Content", 1, "", 0},
		{"TheGoProgrammingLanguageCh1.pdf", core.FilePDF, "that’s pretty much the definition of computing.", 408, "Tutorial", 23},
		{
			"WaldenFull.pdf",
			core.FilePDF,
			"I went to the woods because I wished to live deliberately",
			1231,
			"BY HENRY DAVID THOREAU/WHERE I LIVED, AND WHAT I LIVED FOR",
			70,
		},
		{"pike-stanford.pdf", core.FilePDF, "Automatic memory management simplifies life.", 355, "Garbage collection", 40},
		{
			"go1.html",
			core.FileHTML,
			"The driving motivation for Go 1 is stability for its users.",
			6,
			"Go 1 Release Notes/Introduction to Go 1",
			0,
		},
		{
			"HTTP-charset.html",
			core.FileHTML,
			"This matches the sequence of bytes above when they are interpreted as ISO 8859-15.",
			6,
			"",
			0,
		},
		{
			"MustRead.html",
			core.FileHTML,
			"Adobe Systems has no responsibility or obligation to support the use of the AFM files.",
			2,
			"",
			0,
		},
		{
			"cobra.md",
			core.FileMarkdown,
			"[Try Cobra in Warp today](https://www.warp.dev/cobra)",
			8,
			"[Warp, the AI terminal for devs](https://www.warp.dev/cobra)",
			0,
		},
		{
			"goldmark.md",
			core.FileMarkdown,
			"I needed a Markdown parser for Go that satisfies the following requirements:",
			12,
			"goldmark/Motivation",
			0,
		},
		{"jsonschema.md", core.FileMarkdown, "against a schema, and inferring a schema from a Go struct.", 3, "JSON Schema for Go", 0},
		{"command.go", core.FileCode, "// ExecuteC executes the command.", 1083, "", 0},
		{"markdown.go", core.FileCode, "// write rendered contents to a writer w.", 30, "", 0},
		{"parse.go", core.FileCode, "// such an element. If there was not, popUntil leaves the stack unchanged.", 86, "", 0},
		{"spec.json", core.FileJSON, `<pre><code>a\ta\nὐ\ta\n</code></pre>`, 20, "", 0},
		{"person.json", core.FileJSON, "$images/logoVerySmall.png", 12, "", 0},
		{"schema.json", core.FileJSON, "Core schema meta-schema", 4, "", 0},
		{"english.csv", core.FileCSV, `"Jackie","Doe","29.11.1965"`, 4, "", 0},
		{"person.csv", core.FileCSV, `"Anastasia","Baburova"`, 4, "", 0},
		{"names.csv", core.FileCSV, "Bob,McCornick,3979870", 4, "", 0},
		{"candide-utf-8.txt", core.FileText, "Il y avait en Vestphalie, dans le château de M. le baron de", 30, "", 0},
		{
			"sunzi-bingfa-simplified-utf-8.txt", core.FileText,
			"孙子曰：兵者，国之大事，死生之地，存亡之道，不可不察也。", 7, "", 0,
		},
		{"LICENSE.txt", core.FileText, "exercising permissions granted by this License.", 24, "", 0},
	}
}

func TestSentencesOfRealDocumentsAreFoundViewedAndGreppedAtTheirPlace(t *testing.T) {
	t.Parallel()
	if *documents == "" {
		t.Skip("-documents names no folder; .ci/documents fills one")
	}
	l := newLibrary(t, storage.Config{})
	folder := l.folder("documents")
	kinds := map[core.FileKind]map[string]bool{}
	for _, d := range inDocuments() {
		if kinds[d.kind] == nil {
			kinds[d.kind] = map[string]bool{}
		}
		if !kinds[d.kind][d.name] {
			data, err := os.ReadFile(filepath.Join(*documents, d.name))
			l.ok(err)
			l.upload(folder.ID, d.name, string(data))
		}
		kinds[d.kind][d.name] = true
	}
	for kind, names := range kinds {
		if len(names) < 3 {
			t.Errorf("only %d documents of kind %s", len(names), kind)
		}
	}
	if len(kinds) != 9 {
		t.Errorf("documents of %d kinds", len(kinds))
	}
	files := byName(l.settled(folder.ID))
	for _, d := range inDocuments() {
		f := files[d.name]
		if f.Status != core.FileCompleted || f.Kind != d.kind || f.Error != "" {
			t.Fatalf("%s: %+v", d.name, f)
		}
		doc, err := l.store.Files().Document(l.ctx, f.ID)
		l.ok(err)
		lines := ingest.Lines(doc)
		row := slices.IndexFunc(lines, func(line ingest.Line) bool { return strings.Contains(line.Text, d.says) })
		if row < 0 {
			t.Errorf("%s does not say %q", d.name, d.says)
			continue
		}
		at := lines[row].Number
		section := doc.Sections[slices.IndexFunc(doc.Sections, func(s core.Section) bool { return lines[row].Start < s.End })]
		if path := strings.Join(section.Path, "/"); at != d.line || path != d.path || section.Page != d.page {
			t.Errorf(
				"%s says %q on line %d of page %d under %q, want line %d of page %d under %q",
				d.name,
				d.says,
				at,
				section.Page,
				path,
				d.line,
				d.page,
				d.path,
			)
		}
		want := parserstest.Place{Text: d.says, Path: d.path, Page: d.page}
		if d.says != "Content" { // which other documents say more often
			l.found(f, want, at)
		}
		l.grepped(f, lines, want, at)
		v, err := ingest.Show(lines, ingest.Range{Offset: core.Some(at - 1), Length: core.Some(1)}, 0)
		if err != nil || !strings.HasSuffix(v.Text, fmt.Sprintf("\n%d: %s", at, lines[row].Text)) {
			t.Errorf("%s, line %d is viewed as %q (%v)", d.name, at, v.Text, err)
		}
	}
}
