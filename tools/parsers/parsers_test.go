package parsers_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"loci/core"
	"loci/core/ingest"
	"loci/tools/parsers"
)

// sample is a document with sentences that are known to stand in it.
type sample struct {
	name string
	kind core.FileKind
	data []byte
	want []place
}

// place is where a sentence stands: under which headings and on which page.
type place struct {
	text string
	path string // joined by /
	page int
}

func (s sample) parse(tb testing.TB) core.Document {
	tb.Helper()
	doc, err := parsers.New().Parse(context.Background(), core.ParseInput{Name: s.name, Data: s.data})
	if err != nil {
		tb.Fatalf("%s: %v", s.name, err)
	}
	return doc
}

func samples(tb testing.TB) []sample {
	tb.Helper()
	var out []sample
	for _, group := range [][]sample{plainSamples(), markupSamples(), dataSamples(), wordSamples(tb), bookSamples(tb), pdfSamples()} {
		out = append(out, group...)
	}
	return out
}

func plainSamples() []sample {
	utf16le := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune("Grüße aus Köln. Die Brücke ist gesperrt.\r\nMorgen fährt die Bahn wieder.\r\n")) {
		utf16le = append(utf16le, byte(u), byte(u>>8))
	}
	return []sample{
		{
			"letter.txt", core.FileText, []byte("Dear Ms. Hall,\n\nthe parcel reached us on Friday. It was\nopened at the border, but nothing is missing. Thank you!\n\nYours, Tom\n"),
			[]place{{text: "It was opened at the border, but nothing is missing."}, {text: "the parcel reached us on Friday."}},
		},
		{"grüße.txt", core.FileText, utf16le, []place{{text: "Die Brücke ist gesperrt."}}},
		{"old.log", core.FileCode, []byte("caf\xe9 opened at nine\nclosed at ten\n"), []place{{text: "café opened at nine"}}},
		{
			"notes.md", core.FileMarkdown, []byte("# Garden\n\nPlan for spring.\n\n## Beds\n\n- beans along the south wall\n- peas\n\n## Tools\n\nThe spade needs a new handle.\n"),
			[]place{{"- beans along the south wall", "Garden/Beds", 0}, {"The spade needs a new handle.", "Garden/Tools", 0}},
		},
		{"README", core.FileText, []byte("Run the installer. Then read on.\n"), []place{{text: "Then read on."}}},
		{
			"howto.markdown", core.FileMarkdown, []byte("How to brew\n===========\n\nHeat the water to 94 degrees. Wait.\n\n```sh\n# grind\nbrew --strong\n```\n"),
			[]place{{"Heat the water to 94 degrees.", "How to brew", 0}, {"brew --strong", "How to brew", 0}},
		},
		{"log.md", core.FileMarkdown, []byte("---\ndate: 2024-05-01\n---\n# May\n\n| day | what |\n|---|---|\n| 3 | boat painted |\n"), []place{{"| 3 | boat painted |", "May", 0}}},
		{"main.go", core.FileCode, []byte("package main\n\n// main greets.\nfunc main() {\n\tprintln(\"hello, harbour\")\n}\n"), []place{{text: "\tprintln(\"hello, harbour\")"}}},
		{"tool.py", core.FileCode, []byte("import os\n\n\ndef area(r):\n    return 3.14159 * r ** 2\n"), []place{{text: "    return 3.14159 * r ** 2"}}},
		{"build", core.FileCode, []byte("#!/bin/sh\nset -e\nmake all\n"), []place{{text: "make all"}}},
	}
}

func markupSamples() []sample {
	return []sample{
		{
			"page.html", core.FileHTML, []byte(`<!DOCTYPE html><html><head><title>Lighthouse keepers</title><style>p{color:red}</style></head><body>
<h1>Keepers</h1><p>The first keeper, <b>Ann Bell</b>, arrived&nbsp;in 1841.<br>She stayed.</p><script>var hidden = "secret"</script>
<h2>Lamps</h2><ul><li>Oil, until 1902</li><li>Gas</li></ul><table><tr><th>Year</th><th>Lamp</th></tr><tr><td>1902</td><td><p>Gas light</p></td></tr></table></body></html>`),
			[]place{{"The first keeper, Ann Bell, arrived in 1841.", "Keepers", 0}, {"- Oil, until 1902", "Keepers/Lamps", 0}, {"| 1902 | Gas light |", "Keepers/Lamps", 0}},
		},
		{
			"legacy.htm", core.FileHTML, []byte("<html><head><meta charset=iso-8859-1></head><body><h1>Men\xfc</h1><p>Heute: K\xe4sesp\xe4tzle.<p>Morgen: Suppe.</body>"),
			[]place{{"Heute: Käsespätzle.", "Menü", 0}, {"Morgen: Suppe.", "Menü", 0}},
		},
		{
			"download", core.FileHTML, []byte("<html><body><h2>Broken <i>tags</h2><div><p>A paragraph that is never closed<div>and a second one.<pre>keep\n  this</pre>"),
			[]place{{"A paragraph that is never closed", "Broken tags", 0}, {"  this", "Broken tags", 0}},
		},
	}
}

func dataSamples() []sample {
	var minified strings.Builder
	minified.WriteString(`{"stations":[`)
	for i := range 60 {
		fmt.Fprintf(&minified, `{"id":%d,"name":"Station %d"},`, i, i)
	}
	minified.WriteString(`{}],"operator":"Northern Rail"}`)
	return []sample{
		{"people.csv", core.FileCSV, []byte("name,city\nAda,London\n\"Grace, H.\",Arlington\n"), []place{{text: "\"Grace, H.\",Arlington"}}},
		{"prices.tsv", core.FileCSV, []byte("item\tprice\r\nbread\t3.20\r\n"), []place{{text: "bread\t3.20"}}},
		{"semicolon.csv", core.FileCSV, []byte("\xef\xbb\xbfStadt;Einwohner\nBonn;331885\n"), []place{{text: "Bonn;331885"}}},
		{"config.json", core.FileJSON, []byte("{\n  \"port\": 8283,\n  \"name\": \"harbour\"\n}\n"), []place{{text: "  \"name\": \"harbour\""}}},
		{"stations.json", core.FileJSON, []byte(minified.String()), []place{{text: `      "name": "Station 41"`}, {text: `  "operator": "Northern Rail"`}}},
		{"events.jsonl", core.FileJSON, []byte("{\"at\": 1, \"what\": \"start\"}\n{\"at\": 2, \"what\": \"flood warning\"}\n"), []place{{text: `{"at": 2, "what": "flood warning"}`}}},
	}
}

func wordSamples(tb testing.TB) []sample {
	tb.Helper()
	return []sample{
		{
			"minutes.docx", core.FileDOCX, word(tb, wordP("berschrift1", "Board meeting")+wordP("", "Present were Ines and Paul. ")+
				wordP("Eigene", "Budget")+`<w:p><w:r><w:t>The roof costs </w:t></w:r><w:r><w:t>4,200 euros.</w:t></w:r><w:r><w:tab/><w:t>Approved.</w:t></w:r></w:p>`),
			[]place{{"Present were Ines and Paul.", "Board meeting", 0}, {"The roof costs 4,200 euros.", "Board meeting/Budget", 0}},
		},
		{
			"table.docx", core.FileDOCX, word(tb, wordP("", "Rota")+`<w:tbl><w:tr><w:tc>`+wordP("", "Monday")+`</w:tc><w:tc>`+wordP("", "Kim")+wordP("", "and Lee")+`</w:tc></w:tr></w:tbl>`+
				`<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr><w:r><w:t>bring keys</w:t></w:r></w:p>`),
			[]place{{text: "| Monday | Kim and Lee |"}, {text: "- bring keys"}},
		},
		{
			"notes.docx", core.FileDOCX, word(tb, wordP("", "See the note.")+`<w:p><w:del><w:r><w:t>gone</w:t></w:r></w:del><mc:AlternateContent><mc:Choice><w:r><w:t>Shown once.</w:t></w:r></mc:Choice><mc:Fallback><w:r><w:t>Shown once.</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>`,
				"word/footnotes.xml", `<w:footnotes `+wordNS+`><w:footnote>`+wordP("", "As measured in Lund.")+`</w:footnote></w:footnotes>`),
			[]place{{text: "Shown once."}, {text: "As measured in Lund."}},
		},
	}
}

func bookSamples(tb testing.TB) []sample {
	tb.Helper()
	return []sample{
		{
			"tale.epub", core.FileEPUB, epub(tb, "A Tale of Tides", "<h1>One</h1><p>The tide was out when Mara woke.</p>", "<h1>Two</h1><p>Nobody saw the second boat &mdash; nobody.</p>"),
			[]place{{"The tide was out when Mara woke.", "One", 0}, {"Nobody saw the second boat — nobody.", "Two", 0}},
		},
		{
			"guide.epub", core.FileEPUB, epub(tb, "Guide", "<h2>Knots</h2><ol><li>A bowline never slips.</li></ol><p><img src='a.png' alt='a bowline'/></p>"),
			[]place{{"- A bowline never slips.", "Knots", 0}, {"[a bowline]", "Knots", 0}},
		},
		{
			"sloppy.epub", core.FileEPUB, epub(tb, "Sloppy", "<p>Not <b>well-formed at all.</p><br>", "<h3>Fine</h3><p>But read all the same.</p>"),
			[]place{{"Not well-formed at all.", "", 0}, {"But read all the same.", "Fine", 0}},
		},
	}
}

func pdfSamples() []sample {
	pages := [][]string{
		{"Survey of the bay", "The survey of the bay began in June with three boats and a crew of", "eleven. Every sounding was written down twice, once by hand and once", "by the recorder (model 4)."},
		{"Results", "The deepest point lies north of the island at forty-one metres. Nobody", "expected the sand bank to have moved by almost two hundred metres in ten", "years."},
		{"Thanks", "We thank the harbour master."},
	}
	want := []place{
		{"Every sounding was written down twice, once by hand and once by the recorder (model 4).", "Survey of the bay", 1},
		{"Nobody expected the sand bank to have moved by almost two hundred metres in ten years.", "Results", 2},
		{"We thank the harbour master.", "Thanks", 3},
	}
	return []sample{
		{"plain.pdf", core.FilePDF, report(false, pages...), want},
		{"packed.pdf", core.FilePDF, report(true, pages...), want},
		{"modern.pdf", core.FilePDF, modernPDF(), []place{{"Zażółć gęślą jaźń.", "", 1}, {"Inside a form.", "", 1}, {"Set in pieces.", "", 1}}},
	}
}

// modernPDF has what programs write today: a font of two-byte codes with a map to Unicode, kerning, a form, a turned page.
func modernPDF() []byte {
	p := newPDF(true)
	text := []rune("Zażółć gęślą jaźń.")
	var codes, cmap strings.Builder
	cmap.WriteString("/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange\n")
	fmt.Fprintf(&cmap, "%d beginbfchar\n", len(text))
	for i, r := range text {
		fmt.Fprintf(&codes, "%04X", i+1)
		fmt.Fprintf(&cmap, "<%04X> <%04X>\n", i+1, r)
	}
	cmap.WriteString("endbfchar endcmap end")
	p.object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.object(2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>")
	p.object(3, "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate 90 /Contents [4 0 R 5 0 R] /Resources << /Font << /F1 6 0 R /F2 9 0 R >> /XObject << /X1 10 0 R >> >> >>")
	p.stream(4, "", "q 0 1 -1 0 612 0 cm BT /F1 12 Tf 1 0 0 1 50 500 Tm <"+codes.String()+"> Tj ET")
	p.stream(5, "", "BT /F2 12 Tf 50 400 Td [(S) 20 (et) -278 (in) -300 (pi) 15 (eces.)] TJ ET /X1 Do Q\nBI /W 2 /H 2 /BPC 8 /CS /G ID \x01(Tj EI\n")
	p.object(6, "<< /Type /Font /Subtype /Type0 /BaseFont /Some /Encoding /Identity-H /DescendantFonts [7 0 R] /ToUnicode 8 0 R >>")
	p.object(7, "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Some /DW 500 /W [1 [600 500] 3 5 450] >>")
	p.stream(8, "", cmap.String())
	p.object(9, "<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding << /Differences [1 /I /n /s /i /d /e /space /a /f /o /r /m /period] >> >>")
	p.stream(10, "/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Matrix [1 0 0 1 0 -100]", "BT /F2 12 Tf 50 300 Td (\\001\\002\\003\\004\\005\\006\\007\\010\\007\\011\\012\\013\\014\\015) Tj ET /X1 Do")
	return p.end("")
}

func TestKnownSentencesAreFoundAtTheirPlace(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		t.Run(s.name, func(t *testing.T) {
			t.Parallel()
			doc := s.parse(t)
			if doc.Kind != s.kind {
				t.Fatalf("kind %q, want %q", doc.Kind, s.kind)
			}
			lines := ingest.Lines(doc)
			for _, want := range s.want {
				found := 0
				for i, l := range lines {
					if l.Text != want.text {
						continue
					}
					found++
					if l.Page != want.page {
						t.Errorf("%q is on page %d, want %d", want.text, l.Page, want.page)
					}
					if at := sectionAt(doc, l.Start); strings.Join(at.Path, "/") != want.path {
						t.Errorf("%q stands under %q, want %q", want.text, at.Path, want.path)
					}
					if ingest.LineAt(lines, l.Start) != i+1 {
						t.Errorf("%q is line %d, but byte %d is on %d", want.text, i+1, l.Start, ingest.LineAt(lines, l.Start))
					}
				}
				if found != 1 {
					t.Errorf("%q is found %d times in:\n%s", want.text, found, doc.Text)
				}
			}
			checkDocument(t, doc)
		})
	}
}

func sectionAt(doc core.Document, offset int) core.Section {
	for _, s := range doc.Sections {
		if offset < s.End {
			return s
		}
	}
	return core.Section{}
}

// checkDocument fails unless the document keeps its promises, and its chunks theirs.
func checkDocument(tb testing.TB, doc core.Document) {
	tb.Helper()
	at := 0
	for i, s := range doc.Sections {
		if s.Start != at || s.End <= s.Start || s.Line != 1+strings.Count(doc.Text[:s.Start], "\n") || s.EndLine != 1+strings.Count(doc.Text[:s.End-1], "\n") {
			tb.Fatalf("section %d is %+v, the one before ends at %d", i, s, at)
		}
		at = s.End
	}
	if at != len(doc.Text) || strings.Contains(doc.Text, "\r") {
		tb.Fatalf("sections end at %d of %d", at, len(doc.Text))
	}
	at = 0
	for _, c := range ingest.Chunks(doc, 60) {
		if c.Start != at || doc.Text[c.Start:c.End] != c.Text {
			tb.Fatalf("a chunk begins at %d, the one before ends at %d", c.Start, at)
		}
		at = c.End
	}
	if at != len(doc.Text) {
		tb.Fatalf("chunks end at %d of %d", at, len(doc.Text))
	}
}

func TestTitlesComeFromTheFile(t *testing.T) {
	t.Parallel()
	want := map[string]string{"notes.md": "Garden", "page.html": "Lighthouse keepers", "minutes.docx": "Minutes of March", "tale.epub": "A Tale of Tides", "plain.pdf": "A report by hand", "packed.pdf": "A report by hand"}
	for _, s := range samples(t) {
		if title, ok := want[s.name]; ok && s.parse(t).Title != title {
			t.Errorf("%s: title %q, want %q", s.name, s.parse(t).Title, title)
		}
	}
}

func TestWhatNobodySeesIsNotRead(t *testing.T) {
	t.Parallel()
	for _, s := range samples(t) {
		doc := s.parse(t)
		for _, hidden := range []string{"secret", "color:red", "gone", "\x01"} {
			if s.name != "old.log" && strings.Contains(doc.Text, hidden) {
				t.Errorf("%s shows %q", s.name, hidden)
			}
		}
	}
}
