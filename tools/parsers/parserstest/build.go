// Package parserstest makes documents of every kind that can be read, with sentences that are known to stand in them, and
// hostile ones that must be refused. It needs nothing but the standard library.
package parserstest

import (
	"archive/zip"
	"bytes"
	"compress/zlib"
	"fmt"
	"strings"
	"testing"
)

// PDFFile writes a PDF by hand, object by object.
type PDFFile struct {
	buf     bytes.Buffer
	offsets map[int]int
	Packed  bool // streams are compressed
}

func NewPDF(packed bool) *PDFFile {
	p := &PDFFile{offsets: map[int]int{}, Packed: packed}
	p.buf.WriteString("%PDF-1.7\n%\xe2\xe3\xcf\xd3\n")
	return p
}

func (p *PDFFile) Object(n int, body string) {
	p.offsets[n] = p.buf.Len()
	fmt.Fprintf(&p.buf, "%d 0 obj\n%s\nendobj\n", n, body)
}

func (p *PDFFile) Stream(n int, dict, data string) {
	if p.Packed {
		data, dict = deflate(data), dict+" /Filter /FlateDecode"
	}
	p.Object(n, fmt.Sprintf("<< %s /Length %d >>\nstream\n%s\nendstream", dict, len(data), data))
}

func deflate(s string) string {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	if _, err := w.Write([]byte(s)); err != nil {
		panic(err)
	}
	if err := w.Close(); err != nil {
		panic(err)
	}
	return b.String()
}

// end writes the cross references; object 1 is the catalog.
func (p *PDFFile) End(trailer string) []byte {
	last := 0
	for n := range p.offsets {
		last = max(last, n)
	}
	at := p.buf.Len()
	fmt.Fprintf(&p.buf, "xref\n0 %d\n0000000000 65535 f \n", last+1)
	for n := 1; n <= last; n++ {
		if off, ok := p.offsets[n]; ok {
			fmt.Fprintf(&p.buf, "%010d 00000 n \n", off)
		} else {
			p.buf.WriteString("0000000000 65535 f \n")
		}
	}
	fmt.Fprintf(&p.buf, "trailer\n<< /Size %d /Root 1 0 R %s >>\nstartxref\n%d\n%%%%EOF\n", last+1, trailer, at)
	return p.buf.Bytes()
}

// report writes a PDF of pages; each is a list of lines, set in 11 points with the first of them in 20.
func Report(packed bool, pages ...[]string) []byte {
	p := NewPDF(packed)
	var kids []string
	for i, lines := range pages {
		page, content := 10+2*i, 11+2*i
		kids = append(kids, fmt.Sprintf("%d 0 R", page))
		p.Object(page, fmt.Sprintf("<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents %d 0 R >>", content))
		var c strings.Builder
		c.WriteString("BT /F1 20 Tf 72 720 Td ")
		for k, line := range lines {
			if k == 1 {
				c.WriteString("/F1 11 Tf 14 TL 0 -30 Td ")
			} else if k > 1 {
				c.WriteString("T* ")
			}
			fmt.Fprintf(&c, "(%s) Tj\n", strings.NewReplacer("\\", "\\\\", "(", "\\(", ")", "\\)").Replace(line))
		}
		c.WriteString("ET")
		p.Stream(content, "", c.String())
	}
	p.Object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.Object(
		2,
		fmt.Sprintf("<< /Type /Pages /Count %d /Kids [%s] /Resources << /Font << /F1 3 0 R >> >> >>", len(kids), strings.Join(kids, " ")),
	)
	p.Object(3, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica /Encoding /WinAnsiEncoding >>")
	p.Object(4, "<< /Title (A report by hand) >>")
	return p.End("/Info 4 0 R")
}

// zipFile packs parts, given as name and content in turns; the first is stored, as EPUB wants it.
func ZipFile(tb testing.TB, parts ...string) []byte {
	tb.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for i := 0; i+1 < len(parts); i += 2 {
		method := zip.Deflate
		if i == 0 {
			method = zip.Store
		}
		w, err := z.CreateHeader(&zip.FileHeader{Name: parts[i], Method: method})
		if err != nil {
			tb.Fatal(err)
		}
		if _, err := w.Write([]byte(parts[i+1])); err != nil {
			tb.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return b.Bytes()
}

const wordNS = `xmlns:w="http://schemas.openxmlformats.org/wordprocessingml/2006/main" xmlns:mc="http://schemas.openxmlformats.org/` +
	`markup-compatibility/2006"`

// word makes a DOCX of the body's XML, with styles that are named in German, as Word does it there.
func word(tb testing.TB, body string, more ...string) []byte {
	tb.Helper()
	return ZipFile(tb, append([]string{
		"[Content_Types].xml", `<?xml version="1.0"?><Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types"/>`,
		"word/document.xml", `<?xml version="1.0" encoding="UTF-8"?><w:document ` + wordNS + `><w:body>` + body + `</w:body></w:document>`,
		"word/styles.xml", `<w:styles ` + wordNS + `><w:style w:styleId="berschrift1"><w:name w:val="heading 1"/></w:style>` +
			`<w:style w:styleId="berschrift2"><w:name w:val="heading 2"/></w:style>` +
			`<w:style w:styleId="Liste"><w:name w:val="List"/><w:pPr><w:numPr><w:numId w:val="9"/></w:numPr></w:pPr></w:style>` +
			`<w:style w:styleId="Punkt"><w:name w:val="List Bullet"/><w:basedOn w:val="Liste"/></w:style>` +
			`<w:style w:styleId="Eigene"><w:name w:val="Eigene"/><w:basedOn w:val="berschrift2"/></w:style></w:styles>`,
		"docProps/core.xml", `<cp:coreProperties xmlns:cp="x" xmlns:dc="y"><dc:title>Minutes of March</dc:title></cp:coreProperties>`,
	}, more...)...)
}

func WordP(style, text string) string {
	return `<w:p><w:pPr><w:pStyle w:val="` + style + `"/></w:pPr><w:r><w:t xml:space="preserve">` + text + `</w:t></w:r></w:p>`
}

// listP is an item of a list.
func listP(list, level, text string) string {
	return `<w:p><w:pPr><w:numPr><w:ilvl w:val="` + level + `"/><w:numId w:val="` + list + `"/></w:numPr></w:pPr><w:r><w:t>` + text +
		`</w:t></w:r></w:p>`
}

// epub makes a book of chapters, each a piece of XHTML for the body.
func EPUB(tb testing.TB, title string, chapters ...string) []byte {
	tb.Helper()
	parts := []string{
		"mimetype", "application/epub+zip",
		"META-INF/container.xml", `<container><rootfiles><rootfile full-path="OEBPS/book.opf"/></rootfiles></container>`,
	}
	var items, refs strings.Builder
	for i, body := range chapters {
		fmt.Fprintf(&items, `<item id="c%d" href="text/ch%%20%d.xhtml" media-type="application/xhtml+xml"/>`, i, i)
		fmt.Fprintf(&refs, `<itemref idref="c%d"/>`, i)
		parts = append(
			parts,
			fmt.Sprintf("OEBPS/text/ch %d.xhtml", i),
			`<?xml version="1.0"?><!DOCTYPE html><html xmlns="http://www.w3.org/1999/xhtml"><head><title/>`+
				`<script src="x.js"/></head><body>`+body+`</body></html>`,
		)
	}
	parts = append(
		parts,
		"OEBPS/book.opf",
		`<package><metadata><dc:title>`+title+`</dc:title></metadata><manifest>`+items.String()+`</manifest><spine>`+refs.String()+
			`</spine></package>`,
	)
	return ZipFile(tb, parts...)
}
