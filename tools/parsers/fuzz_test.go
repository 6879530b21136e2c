package parsers_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/core/ingest"
	"loci/tools/parsers"
	"loci/tools/parsers/parserstest"
)

// fuzz feeds a parser what nobody wrote. Whatever comes, it answers with a document that keeps its promises or with an
// error of a kind that is the file's fault.
func fuzz(f *testing.F, name string, kinds ...core.FileKind) {
	f.Helper()
	for _, s := range parserstest.Samples(f) {
		for _, k := range kinds {
			if s.Kind == k {
				f.Add(s.Data)
			}
		}
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		limits := core.ParseLimits{Unpacked: 4 << 20, Text: 1 << 20, Time: 20 * time.Second}
		doc, err := parsers.New().Parse(context.Background(), core.ParseInput{Name: name, Data: data, Limits: limits})
		checkAnswer(t, doc, err)
	})
}

func FuzzText(f *testing.F)     { fuzz(f, "f.txt", core.FileText) }
func FuzzMarkdown(f *testing.F) { fuzz(f, "f.md", core.FileMarkdown) }
func FuzzCode(f *testing.F)     { fuzz(f, "f.go", core.FileCode) }
func FuzzCSV(f *testing.F)      { fuzz(f, "f.csv", core.FileCSV) }
func FuzzJSON(f *testing.F)     { fuzz(f, "f.json", core.FileJSON) }
func FuzzHTML(f *testing.F)     { fuzz(f, "f.html", core.FileHTML) }
func FuzzPDF(f *testing.F)      { fuzz(f, "f.pdf", core.FilePDF) }

// FuzzWordXML and FuzzBookXHTML go past the archive, whose checksums would stop nearly everything.
func FuzzWordXML(f *testing.F) {
	f.Add(
		parserstest.WordP("berschrift1", "A heading")+"<w:tbl><w:tr><w:tc>"+parserstest.WordP("", "x")+"</w:tc></w:tr></w:tbl>",
		"<w:style w:styleId='a'><w:basedOn w:val='a'/></w:style>",
	)
	f.Fuzz(func(t *testing.T, body, styles string) {
		data := parserstest.ZipFile(t, "word/document.xml", "<d>"+body+"</d>", "word/styles.xml", styles)
		fuzzOne(t, "f.docx", data)
	})
}

func FuzzBookXHTML(f *testing.F) {
	f.Add("<h1>One</h1><table><tr><td>x</table><li>", "ch.xhtml")
	f.Fuzz(func(t *testing.T, body, href string) {
		data := parserstest.ZipFile(
			t,
			"mimetype",
			"application/epub+zip",
			"META-INF/container.xml",
			`<c><rootfile full-path="o/b.opf"/></c>`,
			"o/b.opf",
			`<p><item id="a" href="`+href+`" media-type="html"/><itemref idref="a"/></p>`,
			"o/ch.xhtml",
			body,
		)
		fuzzOne(t, "f.epub", data)
	})
}

// FuzzDOCX and FuzzEPUB are of the archive itself, and the two below of what its parts are called and say of each other.
func FuzzDOCX(f *testing.F) { fuzz(f, "f.docx", core.FileDOCX) }
func FuzzEPUB(f *testing.F) { fuzz(f, "f.epub", core.FileEPUB) }

func FuzzWordContainer(f *testing.F) {
	const rels = `<Relationships><Relationship Id="r" Type="t/officeDocument" Target="word/document.xml"/></Relationships>`
	f.Add("word/document.xml", parserstest.WordP("", "x"), "_rels/.rels", rels)
	f.Add("Word\\document.xml", "<d/>", "../word/document.xml", "<d>")
	f.Add("word/numbering.xml", "<w:num w:numId='1'><w:abstractNumId w:val='1'/></w:num>", "docProps/core.xml", "<dc:title>T</dc:title>")
	f.Fuzz(func(t *testing.T, name, body, other, more string) {
		fuzzContainer(
			t,
			"f.docx",
			"[Content_Types].xml",
			"<Types/>",
			name,
			body,
			other,
			more,
			"word/document.xml",
			"<d>"+parserstest.WordP("", "y")+"</d>",
		)
	})
}

func FuzzBookContainer(f *testing.F) {
	f.Add(`<rootfile full-path="b.opf"/>`, `<item id="a" href="../c.xhtml"/><itemref idref="a"/><itemref idref="a"/>`, "c.xhtml", "<p>x")
	f.Add(
		`<rootfile full-path="../../b.opf"/><rootfile full-path=""/>`,
		`<item id="a" href="%zz"/><item id="a" href="b.opf"/><itemref idref="b"/>`,
		"o/b.opf",
		"<dc:title>",
	)
	f.Fuzz(func(t *testing.T, container, book, name, body string) {
		fuzzContainer(
			t,
			"f.epub",
			"mimetype",
			"application/epub+zip",
			"META-INF/container.xml",
			"<c>"+container+"</c>",
			"b.opf",
			"<p>"+book+"</p>",
			name,
			body,
		)
	})
}

// fuzzContainer packs parts where their names can be those of an archive.
func fuzzContainer(t *testing.T, name string, parts ...string) {
	t.Helper()
	for i := 0; i < len(parts); i += 2 {
		if parts[i] == "" || strings.HasSuffix(parts[i], "/") || len(parts[i]) > 1000 {
			t.Skip()
		}
	}
	fuzzOne(t, name, parserstest.ZipFile(t, parts...))
}

// FuzzPDFContent goes past the structure of the file, into a page and a font's map.
func FuzzPDFContent(f *testing.F) {
	f.Add(
		"BT /F1 12 Tf 72 720 Td (Hello) Tj [(a) -300 <62>] TJ T* (x) ' ET q 1 0 0 1 0 0 cm /X1 Do Q",
		"1 beginbfchar <01> <0041> endbfchar 1 beginbfrange <02> <09> [<0042>] endbfrange",
	)
	f.Fuzz(func(t *testing.T, content, cmap string) {
		p := parserstest.NewPDF(false)
		p.Object(1, "<< /Type /Catalog /Pages 2 0 R >>")
		p.Object(2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>")
		p.Object(3, "<< /Type /Page /Parent 2 0 R /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> >> >>")
		p.Packed = true
		p.Stream(4, "", content)
		p.Object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /ToUnicode 6 0 R >>")
		p.Stream(6, "", cmap)
		fuzzOne(t, "f.pdf", p.End(""))
	})
}

func fuzzOne(t *testing.T, name string, data []byte) {
	t.Helper()
	doc, err := parsers.New().
		Parse(context.Background(), core.ParseInput{
			Name: name, Data: data, Limits: core.ParseLimits{Text: 1 << 20, Time: 20 * time.Second},
		})
	checkAnswer(t, doc, err)
}

// checkAnswer fails unless the document keeps its promises, or the error is the file's fault.
func checkAnswer(tb testing.TB, doc core.Document, err error) {
	tb.Helper()
	if err == nil {
		checkDocument(tb, doc)
		ingest.Lines(doc)
		return
	}
	if kind := core.KindOf(err); kind != core.Invalid && kind != core.Unsupported && kind != core.TooLarge {
		tb.Fatalf("%s: %v", kind, err)
	}
}

// BenchmarkPDF reports pages a second of printed text, 40 lines a page.
func BenchmarkPDF(b *testing.B) {
	var pages [][]string
	for i := range 200 {
		page := []string{fmt.Sprintf("Chapter %d", i)}
		for k := range 40 {
			page = append(page, fmt.Sprintf("Line %d of the text goes on for about as many words as a page is wide, %d.", k, i*k))
		}
		pages = append(pages, page)
	}
	data := parserstest.Report(true, pages...)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := parsers.New().Parse(b.Context(), core.ParseInput{Name: "b.pdf", Data: data}); err != nil {
			b.Fatal(err)
		}
	}
	b.ReportMetric(float64(200*b.N)/b.Elapsed().Seconds(), "pages/s")
}

// BenchmarkHTML and BenchmarkChunks report bytes a second.
func BenchmarkHTML(b *testing.B) {
	data := []byte(
		"<html><body>" + strings.Repeat(
			"<h2>A part</h2><p>Some <b>words</b> that follow one another for a while, as they do.</p><ul><li>one</li><li>two</li></ul>",
			5000,
		),
	)
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		if _, err := parsers.New().Parse(b.Context(), core.ParseInput{Name: "b.html", Data: data}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkChunks(b *testing.B) {
	data := bytes.Repeat(
		[]byte("# Part\n\nSome words that follow one another for a while, as they do. And a second sentence.\n\n- one\n- two\n\n"),
		5000,
	)
	doc, err := parsers.New().Parse(b.Context(), core.ParseInput{Name: "b.md", Data: data})
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(data)))
	for b.Loop() {
		ingest.Chunks(doc, 0)
	}
}
