package parserstest

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"loci/core"
)

// Hostile is a file that must be refused, with an error of a kind that a person understands.
type Hostile struct {
	Name  string
	Data  []byte
	Kind  core.Kind
	Says  string // part of the message
	Bound core.ParseLimits
}

const MB = 1 << 20

// Hostiles returns files that must be refused.
func Hostiles(tb testing.TB) []Hostile {
	tb.Helper()
	var out []Hostile
	for _, group := range [][]Hostile{hostileNames(), hostileTexts(), hostileZips(tb), hostilePDFs()} {
		out = append(out, group...)
	}
	return out
}

func hostileNames() []Hostile {
	text := []byte("plain")
	return []Hostile{
		{Name: "../secrets.txt", Data: text, Kind: core.Invalid, Says: "leads out"},
		{Name: "/etc/passwd", Data: text, Kind: core.Invalid, Says: "leads out"},
		{Name: `..\boot.txt`, Data: text, Kind: core.Invalid, Says: "path"},
		{Name: "C:boot.txt", Data: text, Kind: core.Invalid, Says: "path"},
		{Name: "a/../../b.txt", Data: text, Kind: core.Invalid, Says: "leads out"},
		{Name: "a\x00.txt", Data: text, Kind: core.Invalid, Says: "control"},
		{Name: "gpj.\u202eexe.txt", Data: text, Kind: core.Invalid, Says: "control"},
		{Name: strings.Repeat("n", 2000), Data: text, Kind: core.Invalid, Says: "bytes"},
		{Name: " ", Data: text, Kind: core.Invalid, Says: "name"},
	}
}

func hostileTexts() []Hostile {
	return []Hostile{
		{Name: "empty.txt", Kind: core.Invalid, Says: "empty"},
		{Name: "blank.md", Data: []byte(" \n\n"), Kind: core.Invalid, Says: "no text"},
		{Name: "big.txt", Data: make([]byte, 2*MB), Kind: core.TooLarge, Says: "allowed", Bound: core.ParseLimits{Input: MB}},
		{
			Name:  "long.txt",
			Data:  bytes.Repeat([]byte("word "), MB),
			Kind:  core.TooLarge,
			Says:  "allowed",
			Bound: core.ParseLimits{Text: MB},
		},
		{Name: "image.png", Data: []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), Kind: core.Unsupported, Says: "binary"},
		{Name: "image.txt", Data: []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), Kind: core.Unsupported, Says: "binary"},
		{Name: "program", Data: []byte("\x7fELF\x02\x01\x01\x00"), Kind: core.Unsupported, Says: "binary"},
		{Name: "old.doc", Data: []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest"), Kind: core.Unsupported, Says: "Office"},
		{Name: "rich.txt", Data: []byte(`{\rtf1 hello}`), Kind: core.Unsupported, Says: "rich text"},
		{Name: "lie.pdf", Data: []byte("I am text"), Kind: core.Invalid, Says: "promises"},
		{Name: "lie.docx", Data: []byte("I am text"), Kind: core.Invalid, Says: "promises"},
		{Name: "deep.json", Data: []byte(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), Kind: core.Invalid, Says: "deeper"},
		{Name: "tag.html", Data: []byte("<p " + strings.Repeat("x=y ", 2*MB) + ">"), Kind: core.Invalid, Says: "HTML"},
	}
}

func hostileZips(tb testing.TB) []Hostile {
	tb.Helper()
	zeros := strings.Repeat("<w:p/>", 4*MB)
	many := []string{"word/document.xml", "<d/>"}
	for i := range 6000 {
		many = append(many, fmt.Sprintf("f%d", i), "")
	}
	laughs := `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>`
	good := word(tb, WordP("", "fine"))
	bookOf := func(spine string) []byte {
		return ZipFile(
			tb,
			"mimetype",
			"application/epub+zip",
			"META-INF/container.xml",
			`<c><rootfile full-path="book.opf"/></c>`,
			"book.opf",
			spine,
		)
	}
	return []Hostile{
		{Name: "bomb.docx", Data: word(tb, zeros), Kind: core.TooLarge, Says: "unpacks"},
		{Name: "bomb.epub", Data: EPUB(tb, "Bomb", strings.Repeat("<br/>", 4*MB)), Kind: core.TooLarge, Says: "unpacks"},
		{
			Name:  "many-small-bombs.epub",
			Data:  EPUB(tb, "Bombs", "<p>"+strings.Repeat("a b ", MB/8)+"</p>", "<p>"+strings.Repeat("c d ", MB/8)+"</p>"),
			Kind:  core.TooLarge,
			Says:  "unpacks",
			Bound: core.ParseLimits{Unpacked: MB},
		},
		{Name: "many.docx", Data: ZipFile(tb, many...), Kind: core.TooLarge, Says: "files"},
		{
			Name: "slip.docx",
			Data: ZipFile(tb, "word/document.xml", "<d/>", "../../etc/cron.d/x", "* * *"),
			Kind: core.Invalid,
			Says: "leads out",
		},
		{
			Name: "twice.docx",
			Data: ZipFile(tb, "word/document.xml", "<d/>", "word/document.xml", "<d/>"),
			Kind: core.Invalid,
			Says: "two files",
		},
		{Name: "laughs.docx", Data: ZipFile(tb, "word/document.xml", laughs+"<d>&c;</d>"), Kind: core.Invalid, Says: "entities"},
		{
			Name: "external.docx",
			Data: ZipFile(tb, "word/document.xml", `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><d>&f;</d>`),
			Kind: core.Invalid,
			Says: "entities",
		},
		{
			Name: "deep.docx",
			Data: word(tb, strings.Repeat("<w:p>", 5000)+strings.Repeat("</w:p>", 5000)),
			Kind: core.Invalid,
			Says: "deeper",
		},
		{Name: "cut.docx", Data: good[:len(good)-40], Kind: core.Invalid, Says: "damaged"},
		{Name: "hollow.docx", Data: ZipFile(tb, "other", "x"), Kind: core.Invalid, Says: "missing"},
		{Name: "truncated.docx", Data: ZipFile(tb, "word/document.xml", "<d><p>"), Kind: core.Invalid, Says: "too early"},
		{Name: "archive.zip", Data: ZipFile(tb, "a.txt", "x"), Kind: core.Unsupported, Says: "archive"},
		{
			Name: "outside.epub",
			Data: bookOf(`<p><item id="a" href="../../../etc/passwd" media-type="text/html"/><itemref idref="a"/></p>`),
			Kind: core.Invalid,
			Says: "outside",
		},
		{
			Name: "remote.epub",
			Data: bookOf(`<p><item id="a" href="http://127.0.0.1/x" media-type="text/html"/><itemref idref="a"/></p>`),
			Kind: core.Invalid,
			Says: "outside",
		},
		{
			Name: "locked.epub",
			Data: ZipFile(
				tb,
				"mimetype",
				"application/epub+zip",
				"META-INF/container.xml",
				`<c/>`,
				"META-INF/encryption.xml",
				`<e><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></e>`,
			),
			Kind: core.Unsupported,
			Says: "copy-protected",
		},
	}
}

// pdfWith makes a PDF of one page with the given content, and more objects.
func PDFWith(content string, packed bool, more func(*PDFFile)) []byte {
	p := NewPDF(packed)
	p.Object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.Object(2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>")
	p.Object(
		3,
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> "+
			"/XObject << /X1 6 0 R >> >> >>",
	)
	p.Stream(4, "", content)
	p.Object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	if more != nil {
		more(p)
	}
	return p.End("")
}

func hostilePDFs() []Hostile {
	good := Report(true, []string{"Title", "Some words."})
	nested := func(open, shut string) []byte {
		p := NewPDF(false)
		p.Object(1, "<< /Type /Catalog /Pages 2 0 R /Deep "+strings.Repeat(open, 200_000)+strings.Repeat(shut, 200_000)+" >>")
		p.Object(2, "<< /Type /Pages /Count 0 /Kids [] >>")
		return p.End("")
	}
	cycle := NewPDF(false)
	cycle.Object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	cycle.Object(2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>")
	cycle.Object(3, "<< /Type /Pages /Count 1 /Kids [2 0 R] >>")
	return []Hostile{
		{Name: "bomb.pdf", Data: PDFWith(strings.Repeat("( ) Tj ", 8*MB), true, nil), Kind: core.TooLarge, Says: "unpacks"},
		{Name: "double-bomb.pdf", Data: doubleBomb(), Kind: core.TooLarge, Says: "unpacks"},
		{Name: "arrays.pdf", Data: nested("[", "]"), Kind: core.Invalid, Says: "damaged"},
		{Name: "dicts.pdf", Data: nested("<</A ", ">>"), Kind: core.Invalid, Says: "damaged"},
		{Name: "cycle.pdf", Data: cycle.End(""), Kind: core.Invalid, Says: "contain themselves"},
		{Name: "cut.pdf", Data: good[:60], Kind: core.Invalid, Says: "damaged"},
		{Name: "header.pdf", Data: []byte("%PDF-1.7\n"), Kind: core.Invalid, Says: "damaged"},
		{
			Name: "noise.pdf",
			Data: append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte("\x00\xff<<[(/Kids 1 0 R obj"), 5000)...),
			Kind: core.Invalid,
			Says: "damaged",
		},
		{Name: "hugexref.pdf", Data: hugeXRef(), Kind: core.Invalid, Says: ""},
		{Name: "selfprev.pdf", Data: selfPrev(), Kind: core.Invalid, Says: ""},
		{Name: "encrypted.pdf", Data: encrypted(), Kind: core.Unsupported, Says: "encrypted"},
		{Name: "scan.pdf", Data: PDFWith("q 100 0 0 100 0 0 cm /Im0 Do Q", true, nil), Kind: core.Invalid, Says: "no text"},
		{
			Name:  "pages.pdf",
			Data:  Report(false, []string{"a"}, []string{"b"}, []string{"c"}),
			Kind:  core.TooLarge,
			Says:  "pages",
			Bound: core.ParseLimits{Pages: 2},
		},
		{Name: "nesting-content.pdf", Data: PDFWith(strings.Repeat("[", 500_000), true, nil), Kind: core.Invalid, Says: "no text"},
	}
}

func doubleBomb() []byte {
	p := NewPDF(false)
	p.Object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.Object(2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>")
	p.Object(3, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>")
	p.Stream(4, "/Filter [/FlateDecode /FlateDecode]", deflate(deflate(strings.Repeat("( ) Tj ", 16*MB))))
	return p.End("")
}

func hugeXRef() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	at := b.Len()
	data := deflate("\x01\x00\x00\x00")
	fmt.Fprintf(
		&b,
		"1 0 obj\n<< /Type /XRef /Size 2000000000 /W [1 2 1] /Index [1999999999 1] /Root 2 0 R /Filter /FlateDecode /Length %d >>\n"+
			"stream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n",
		len(data),
		data,
		at,
	)
	return b.Bytes()
}

// selfPrev has cross references whose predecessor is themselves.
func selfPrev() []byte {
	p := NewPDF(false)
	p.Object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.Object(2, "<< /Type /Pages /Count 0 /Kids [] >>")
	return p.End(fmt.Sprintf("/Prev %d", p.buf.Len()))
}

func encrypted() []byte {
	p := NewPDF(false)
	p.Object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.Object(2, "<< /Type /Pages /Count 0 /Kids [] >>")
	x := strings.Repeat("ab", 32)
	p.Object(3, "<< /Filter /Standard /V 2 /R 3 /Length 128 /P -1 /O <"+x+"> /U <"+x+"> >>")
	return p.End("/Encrypt 3 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]")
}
