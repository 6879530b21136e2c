package parsers_test

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/tools/parsers"
)

// hostile is a file that must be refused, with an error of a kind that a person understands.
type hostile struct {
	name  string
	data  []byte
	kind  core.Kind
	says  string // part of the message
	bound core.ParseLimits
}

const MB = 1 << 20

func hostiles(tb testing.TB) []hostile {
	tb.Helper()
	var out []hostile
	for _, group := range [][]hostile{hostileNames(), hostileTexts(), hostileZips(tb), hostilePDFs()} {
		out = append(out, group...)
	}
	return out
}

func hostileNames() []hostile {
	text := []byte("plain")
	return []hostile{
		{name: "../secrets.txt", data: text, kind: core.Invalid, says: "leads out"},
		{name: "/etc/passwd", data: text, kind: core.Invalid, says: "leads out"},
		{name: `..\boot.txt`, data: text, kind: core.Invalid, says: "path"},
		{name: "C:boot.txt", data: text, kind: core.Invalid, says: "path"},
		{name: "a/../../b.txt", data: text, kind: core.Invalid, says: "leads out"},
		{name: "a\x00.txt", data: text, kind: core.Invalid, says: "control"},
		{name: "gpj.\u202eexe.txt", data: text, kind: core.Invalid, says: "control"},
		{name: strings.Repeat("n", 2000), data: text, kind: core.Invalid, says: "bytes"},
		{name: " ", data: text, kind: core.Invalid, says: "name"},
	}
}

func hostileTexts() []hostile {
	return []hostile{
		{name: "empty.txt", kind: core.Invalid, says: "empty"},
		{name: "blank.md", data: []byte(" \n\n"), kind: core.Invalid, says: "no text"},
		{name: "big.txt", data: make([]byte, 2*MB), kind: core.TooLarge, says: "allowed", bound: core.ParseLimits{Input: MB}},
		{name: "long.txt", data: bytes.Repeat([]byte("word "), MB), kind: core.TooLarge, says: "allowed", bound: core.ParseLimits{Text: MB}},
		{name: "image.png", data: []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), kind: core.Unsupported, says: "binary"},
		{name: "image.txt", data: []byte("\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"), kind: core.Unsupported, says: "binary"},
		{name: "program", data: []byte("\x7fELF\x02\x01\x01\x00"), kind: core.Unsupported, says: "binary"},
		{name: "old.doc", data: []byte("\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1rest"), kind: core.Unsupported, says: "Office"},
		{name: "rich.txt", data: []byte(`{\rtf1 hello}`), kind: core.Unsupported, says: "rich text"},
		{name: "lie.pdf", data: []byte("I am text"), kind: core.Invalid, says: "promises"},
		{name: "lie.docx", data: []byte("I am text"), kind: core.Invalid, says: "promises"},
		{name: "deep.json", data: []byte(strings.Repeat("[", 100_000) + strings.Repeat("]", 100_000)), kind: core.Invalid, says: "deeper"},
		{name: "tag.html", data: []byte("<p " + strings.Repeat("x=y ", 2*MB) + ">"), kind: core.Invalid, says: "HTML"},
	}
}

func hostileZips(tb testing.TB) []hostile {
	tb.Helper()
	zeros := strings.Repeat("<w:p/>", 4*MB)
	many := []string{"word/document.xml", "<d/>"}
	for i := range 6000 {
		many = append(many, fmt.Sprintf("f%d", i), "")
	}
	laughs := `<!DOCTYPE x [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;"><!ENTITY c "&b;&b;&b;&b;">]>`
	good := word(tb, wordP("", "fine"))
	bookOf := func(spine string) []byte {
		return zipFile(tb, "mimetype", "application/epub+zip", "META-INF/container.xml", `<c><rootfile full-path="book.opf"/></c>`, "book.opf", spine)
	}
	return []hostile{
		{name: "bomb.docx", data: word(tb, zeros), kind: core.TooLarge, says: "unpacks"},
		{name: "bomb.epub", data: epub(tb, "Bomb", strings.Repeat("<br/>", 4*MB)), kind: core.TooLarge, says: "unpacks"},
		{name: "many-small-bombs.epub", data: epub(tb, "Bombs", "<p>"+strings.Repeat("a b ", MB/8)+"</p>", "<p>"+strings.Repeat("c d ", MB/8)+"</p>"), kind: core.TooLarge, says: "unpacks", bound: core.ParseLimits{Unpacked: MB}},
		{name: "many.docx", data: zipFile(tb, many...), kind: core.TooLarge, says: "files"},
		{name: "slip.docx", data: zipFile(tb, "word/document.xml", "<d/>", "../../etc/cron.d/x", "* * *"), kind: core.Invalid, says: "leads out"},
		{name: "twice.docx", data: zipFile(tb, "word/document.xml", "<d/>", "word/document.xml", "<d/>"), kind: core.Invalid, says: "two files"},
		{name: "laughs.docx", data: zipFile(tb, "word/document.xml", laughs+"<d>&c;</d>"), kind: core.Invalid, says: "entities"},
		{name: "external.docx", data: zipFile(tb, "word/document.xml", `<!DOCTYPE x [<!ENTITY f SYSTEM "file:///etc/passwd">]><d>&f;</d>`), kind: core.Invalid, says: "entities"},
		{name: "deep.docx", data: word(tb, strings.Repeat("<w:p>", 5000)+strings.Repeat("</w:p>", 5000)), kind: core.Invalid, says: "deeper"},
		{name: "cut.docx", data: good[:len(good)-40], kind: core.Invalid, says: "damaged"},
		{name: "hollow.docx", data: zipFile(tb, "other", "x"), kind: core.Invalid, says: "missing"},
		{name: "truncated.docx", data: zipFile(tb, "word/document.xml", "<d><p>"), kind: core.Invalid, says: "too early"},
		{name: "archive.zip", data: zipFile(tb, "a.txt", "x"), kind: core.Unsupported, says: "archive"},
		{name: "outside.epub", data: bookOf(`<p><item id="a" href="../../../etc/passwd" media-type="text/html"/><itemref idref="a"/></p>`), kind: core.Invalid, says: "outside"},
		{name: "remote.epub", data: bookOf(`<p><item id="a" href="http://127.0.0.1/x" media-type="text/html"/><itemref idref="a"/></p>`), kind: core.Invalid, says: "outside"},
		{name: "locked.epub", data: zipFile(tb, "mimetype", "application/epub+zip", "META-INF/container.xml", `<c/>`, "META-INF/encryption.xml", `<e><EncryptionMethod Algorithm="http://www.w3.org/2001/04/xmlenc#aes128-cbc"/></e>`), kind: core.Unsupported, says: "copy-protected"},
	}
}

// pdfWith makes a PDF of one page with the given content, and more objects.
func pdfWith(content string, packed bool, more func(*pdfFile)) []byte {
	p := newPDF(packed)
	p.object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.object(2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>")
	p.object(3, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R /Resources << /Font << /F1 5 0 R >> /XObject << /X1 6 0 R >> >> >>")
	p.stream(4, "", content)
	p.object(5, "<< /Type /Font /Subtype /Type1 /BaseFont /Helvetica >>")
	if more != nil {
		more(p)
	}
	return p.end("")
}

func hostilePDFs() []hostile {
	good := report(true, []string{"Title", "Some words."})
	nested := func(open, shut string) []byte {
		p := newPDF(false)
		p.object(1, "<< /Type /Catalog /Pages 2 0 R /Deep "+strings.Repeat(open, 200_000)+strings.Repeat(shut, 200_000)+" >>")
		p.object(2, "<< /Type /Pages /Count 0 /Kids [] >>")
		return p.end("")
	}
	cycle := newPDF(false)
	cycle.object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	cycle.object(2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>")
	cycle.object(3, "<< /Type /Pages /Count 1 /Kids [2 0 R] >>")
	return []hostile{
		{name: "bomb.pdf", data: pdfWith(strings.Repeat("( ) Tj ", 8*MB), true, nil), kind: core.TooLarge, says: "unpacks"},
		{name: "double-bomb.pdf", data: doubleBomb(), kind: core.TooLarge, says: "unpacks"},
		{name: "arrays.pdf", data: nested("[", "]"), kind: core.Invalid, says: "damaged"},
		{name: "dicts.pdf", data: nested("<</A ", ">>"), kind: core.Invalid, says: "damaged"},
		{name: "cycle.pdf", data: cycle.end(""), kind: core.Invalid, says: "contain themselves"},
		{name: "cut.pdf", data: good[:60], kind: core.Invalid, says: "damaged"},
		{name: "header.pdf", data: []byte("%PDF-1.7\n"), kind: core.Invalid, says: "damaged"},
		{name: "noise.pdf", data: append([]byte("%PDF-1.4\n"), bytes.Repeat([]byte("\x00\xff<<[(/Kids 1 0 R obj"), 5000)...), kind: core.Invalid, says: "damaged"},
		{name: "hugexref.pdf", data: hugeXRef(), kind: core.Invalid, says: ""},
		{name: "selfprev.pdf", data: selfPrev(), kind: core.Invalid, says: ""},
		{name: "encrypted.pdf", data: encrypted(), kind: core.Unsupported, says: "encrypted"},
		{name: "scan.pdf", data: pdfWith("q 100 0 0 100 0 0 cm /Im0 Do Q", true, nil), kind: core.Invalid, says: "no text"},
		{name: "pages.pdf", data: report(false, []string{"a"}, []string{"b"}, []string{"c"}), kind: core.TooLarge, says: "pages", bound: core.ParseLimits{Pages: 2}},
		{name: "nesting-content.pdf", data: pdfWith(strings.Repeat("[", 500_000), true, nil), kind: core.Invalid, says: "no text"},
	}
}

func doubleBomb() []byte {
	p := newPDF(false)
	p.object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.object(2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>")
	p.object(3, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Contents 4 0 R >>")
	p.stream(4, "/Filter [/FlateDecode /FlateDecode]", deflate(deflate(strings.Repeat("( ) Tj ", 16*MB))))
	return p.end("")
}

func hugeXRef() []byte {
	var b bytes.Buffer
	b.WriteString("%PDF-1.5\n")
	at := b.Len()
	data := deflate("\x01\x00\x00\x00")
	fmt.Fprintf(&b, "1 0 obj\n<< /Type /XRef /Size 2000000000 /W [1 2 1] /Index [1999999999 1] /Root 2 0 R /Filter /FlateDecode /Length %d >>\nstream\n%s\nendstream\nendobj\nstartxref\n%d\n%%%%EOF\n", len(data), data, at)
	return b.Bytes()
}

// selfPrev has cross references whose predecessor is themselves.
func selfPrev() []byte {
	p := newPDF(false)
	p.object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.object(2, "<< /Type /Pages /Count 0 /Kids [] >>")
	return p.end(fmt.Sprintf("/Prev %d", p.buf.Len()))
}

func encrypted() []byte {
	p := newPDF(false)
	p.object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.object(2, "<< /Type /Pages /Count 0 /Kids [] >>")
	x := strings.Repeat("ab", 32)
	p.object(3, "<< /Filter /Standard /V 2 /R 3 /Length 128 /P -1 /O <"+x+"> /U <"+x+"> >>")
	return p.end("/Encrypt 3 0 R /ID [<00112233445566778899aabbccddeeff> <00112233445566778899aabbccddeeff>]")
}

func TestHostileFilesAreRefusedAlone(t *testing.T) {
	t.Parallel()
	p := parsers.New()
	for _, h := range hostiles(t) {
		t.Run(fmt.Sprintf("%.30q", h.name), func(t *testing.T) {
			t.Parallel()
			start := time.Now()
			doc, err := p.Parse(context.Background(), core.ParseInput{Name: h.name, Data: h.data, Limits: h.bound})
			if err == nil {
				t.Fatalf("it was read: %d bytes of text", len(doc.Text))
			}
			if core.KindOf(err) != h.kind || !strings.Contains(err.Error(), h.says) {
				t.Errorf("error %q of kind %s, want %q of kind %s", err, core.KindOf(err), h.says, h.kind)
			}
			if len(err.Error()) > 3000 {
				t.Errorf("the error has %d bytes", len(err.Error()))
			}
			if took := time.Since(start); took > 30*time.Second {
				t.Errorf("it took %s", took)
			}
			// The next file is read as if nothing had happened.
			if _, err := p.Parse(context.Background(), core.ParseInput{Name: "next.txt", Data: []byte("all well")}); err != nil {
				t.Errorf("the next file: %v", err)
			}
		})
	}
}

func TestReadingEndsWithItsContextAndItsTime(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	slow := pdfWith("BT /F1 9 Tf "+strings.Repeat("0 -1 Td (x) Tj /X1 Do ", 30_000)+"ET", true, func(p *pdfFile) {
		p.stream(6, "/Type /XObject /Subtype /Form /BBox [0 0 1 1]", "BT /F1 9 Tf (y) Tj ET")
	})
	for _, s := range samples(t) {
		if s.kind == core.FileText || s.kind == core.FileMarkdown || s.kind == core.FileCode || s.kind == core.FileCSV || s.kind == core.FileJSON {
			continue // read at once
		}
		if _, err := parsers.New().Parse(ctx, core.ParseInput{Name: s.name, Data: s.data}); core.KindOf(err) != core.Cancelled {
			t.Errorf("%s: %v, want it cancelled", s.name, err)
		}
	}
	_, err := parsers.New().Parse(context.Background(), core.ParseInput{Name: "slow.pdf", Data: slow, Limits: core.ParseLimits{Time: time.Millisecond}})
	if core.KindOf(err) != core.Timeout {
		t.Errorf("slow.pdf: %v, want a timeout", err)
	}
}

func TestAFormThatDrawsItselfIsDrawnOnce(t *testing.T) {
	t.Parallel()
	data := pdfWith("/X1 Do", true, func(p *pdfFile) {
		p.stream(6, "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Resources << /Font << /F1 5 0 R >> /XObject << /X1 6 0 R >> >>", "BT /F1 9 Tf (once) Tj ET /X1 Do /X1 Do")
	})
	doc, err := parsers.New().Parse(context.Background(), core.ParseInput{Name: "a.pdf", Data: data})
	if err != nil || strings.Count(doc.Text, "once") != 1 {
		t.Errorf("text %q, error %v", doc.Text, err)
	}
}

func TestADamagedPDFIsReadAsFarAsItGoes(t *testing.T) {
	t.Parallel()
	data := report(true, []string{"Title", "The words survive."})
	at := bytes.LastIndex(data, []byte("startxref"))
	broken := append(bytes.Clone(data[:at]), []byte("startxref\n7\n%%EOF\n")...)
	doc, err := parsers.New().Parse(context.Background(), core.ParseInput{Name: "a.pdf", Data: broken})
	if err != nil || !strings.Contains(doc.Text, "The words survive.") {
		t.Errorf("text %q, error %v", doc.Text, err)
	}
}
