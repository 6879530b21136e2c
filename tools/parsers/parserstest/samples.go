package parserstest

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf16"

	"loci/core"
)

// Sample is a document with sentences that are known to stand in it.
type Sample struct {
	Name string
	Kind core.FileKind
	Data []byte
	Want []Place
}

// Place is where a sentence stands: under which headings and on which page.
type Place struct {
	Text string
	Path string // joined by /
	Page int
}

// Samples returns at least three documents of each kind.
func Samples(tb testing.TB) []Sample {
	tb.Helper()
	var out []Sample
	for _, group := range [][]Sample{plainSamples(), markupSamples(), dataSamples(), wordSamples(tb), bookSamples(tb), pdfSamples()} {
		out = append(out, group...)
	}
	return out
}

func plainSamples() []Sample {
	utf16le := []byte{0xff, 0xfe}
	for _, u := range utf16.Encode([]rune("Grüße aus Köln. Die Brücke ist gesperrt.\r\nMorgen fährt die Bahn wieder.\r\n")) {
		utf16le = append(utf16le, byte(u), byte(u>>8))
	}
	return []Sample{
		{
			"letter.txt",
			core.FileText,
			[]byte(
				"Dear Ms. Hall,\n\nthe parcel reached us on Friday. It was\nopened at the border, but nothing is missing. " +
					"Thank you!\n\nYours, Tom\n",
			),
			[]Place{{Text: "opened at the border, but nothing is missing. Thank you!"}, {Text: "the parcel reached us on Friday. It was"}},
		},
		{"grüße.txt", core.FileText, utf16le, []Place{{Text: "Grüße aus Köln. Die Brücke ist gesperrt."}}},
		{"old.log", core.FileCode, []byte("caf\xe9 opened at nine\nclosed at ten\n"), []Place{{Text: "café opened at nine"}}},
		{
			"notes.md",
			core.FileMarkdown,
			[]byte(
				"# Garden\n\nPlan for spring.\n\n## Beds\n\n- beans along the south wall\n- peas\n\n## Tools\n\n" +
					"The spade needs a new handle.\n",
			),
			[]Place{{"- beans along the south wall", "Garden/Beds", 0}, {"The spade needs a new handle.", "Garden/Tools", 0}},
		},
		{"README", core.FileText, []byte("Run the installer. Then read on.\n"), []Place{{Text: "Run the installer. Then read on."}}},
		{
			"howto.markdown",
			core.FileMarkdown,
			[]byte("How to brew\n===========\n\nHeat the water to 94 degrees. Wait.\n\n```sh\n# grind\nbrew --strong\n```\n"),
			[]Place{{"Heat the water to 94 degrees.", "How to brew", 0}, {"brew --strong", "How to brew", 0}},
		},
		{
			"log.md",
			core.FileMarkdown,
			[]byte("---\ndate: 2024-05-01\n---\n# May\n\n| day | what |\n|---|---|\n| 3 | boat painted |\n"),
			[]Place{{"| 3 | boat painted |", "May", 0}},
		},
		{
			"main.go",
			core.FileCode,
			[]byte("package main\n\n// main greets.\nfunc main() {\n\tprintln(\"hello, harbour\")\n}\n"),
			[]Place{{Text: "\tprintln(\"hello, harbour\")"}},
		},
		{
			"tool.py",
			core.FileCode,
			[]byte("import os\n\n\ndef area(r):\n    return 3.14159 * r ** 2\n"),
			[]Place{{Text: "    return 3.14159 * r ** 2"}},
		},
		{"build", core.FileCode, []byte("#!/bin/sh\nset -e\nmake all\n"), []Place{{Text: "make all"}}},
	}
}

func markupSamples() []Sample {
	return []Sample{
		{
			"page.html",
			core.FileHTML,
			[]byte(`<!DOCTYPE html><html><head><title>Lighthouse keepers</title><style>p{color:red}</style></head><body>
<h1>Keepers</h1><p>The first keeper, <b>Ann Bell</b>, arrived&nbsp;in 1841.<br>She stayed.</p><script>var hidden = "secret"</script>
<h2>Lamps</h2><ul><li>Oil, until 1902</li><li>Gas</li></ul><table><tr><th>Year</th><th>Lamp</th></tr><tr><td>1902</td><td>` +
				`<p>Gas light</p></td></tr></table></body></html>`),
			[]Place{
				{"The first keeper, Ann Bell, arrived in 1841.", "Keepers", 0},
				{"- Oil, until 1902", "Keepers/Lamps", 0},
				{"| 1902 | Gas light |", "Keepers/Lamps", 0},
			},
		},
		{
			"legacy.htm",
			core.FileHTML,
			[]byte(
				"<html><head><meta charset=iso-8859-1></head><body><h1>Men\xfc</h1><p>Heute: K\xe4sesp\xe4tzle.<p>Morgen: Suppe.</body>",
			),
			[]Place{{"Heute: Käsespätzle.", "Menü", 0}, {"Morgen: Suppe.", "Menü", 0}},
		},
		{
			"download",
			core.FileHTML,
			[]byte(
				"<html><body><h2>Broken <i>tags</h2><div><p>A paragraph that is never closed<div>and a second one.<pre>keep\n  this</pre>",
			),
			[]Place{{"A paragraph that is never closed", "Broken tags", 0}, {"  this", "Broken tags", 0}},
		},
	}
}

func dataSamples() []Sample {
	var minified strings.Builder
	minified.WriteString(`{"stations":[`)
	for i := range 60 {
		fmt.Fprintf(&minified, `{"id":%d,"name":"Station %d"},`, i, i)
	}
	minified.WriteString(`{}],"operator":"Northern Rail"}`)
	return []Sample{
		{
			"people.csv",
			core.FileCSV,
			[]byte("name,city\nAda,London\n\"Grace, H.\",Arlington\n"),
			[]Place{{Text: "\"Grace, H.\",Arlington"}},
		},
		{"prices.tsv", core.FileCSV, []byte("item\tprice\r\nbread\t3.20\r\n"), []Place{{Text: "bread\t3.20"}}},
		{"semicolon.csv", core.FileCSV, []byte("\xef\xbb\xbfStadt;Einwohner\nBonn;331885\n"), []Place{{Text: "Bonn;331885"}}},
		{
			"config.json",
			core.FileJSON,
			[]byte("{\n  \"port\": 8283,\n  \"name\": \"harbour\"\n}\n"),
			[]Place{{Text: "  \"name\": \"harbour\""}},
		},
		{
			"stations.json",
			core.FileJSON,
			[]byte(minified.String()),
			[]Place{{Text: `      "name": "Station 41"`}, {Text: `  "operator": "Northern Rail"`}},
		},
		{
			"events.jsonl",
			core.FileJSON,
			[]byte("{\"at\": 1, \"what\": \"start\"}\n{\"at\": 2, \"what\": \"flood warning\"}\n"),
			[]Place{{Text: `{"at": 2, "what": "flood warning"}`}},
		},
	}
}

func wordSamples(tb testing.TB) []Sample {
	tb.Helper()
	return []Sample{
		{
			"minutes.docx", core.FileDOCX, word(tb, WordP("berschrift1", "Board meeting")+WordP("", "Present were Ines and Paul. ")+
				WordP(
					"Eigene",
					"Budget",
				)+`<w:p><w:r><w:t>The roof costs </w:t></w:r><w:r><w:t>4,200 euros.</w:t></w:r><w:r><w:tab/>`+
				`<w:t>Approved.</w:t></w:r></w:p>`),
			[]Place{{"Present were Ines and Paul.", "Board meeting", 0}, {"The roof costs 4,200 euros.", "Board meeting/Budget", 0}},
		},
		{
			"table.docx",
			core.FileDOCX,
			word(
				tb,
				WordP(
					"",
					"Rota",
				)+`<w:tbl><w:tr><w:tc>`+WordP(
					"",
					"Monday",
				)+`</w:tc><w:tc>`+WordP(
					"",
					"Kim",
				)+WordP(
					"",
					"and Lee",
				)+`</w:tc></w:tr></w:tbl>`+
					`<w:p><w:pPr><w:numPr><w:ilvl w:val="1"/></w:numPr></w:pPr><w:r><w:t>bring keys</w:t></w:r></w:p>`,
			),
			[]Place{{Text: "| Monday | Kim and Lee |"}, {Text: "- bring keys"}},
		},
		{
			"notes.docx",
			core.FileDOCX,
			word(
				tb,
				WordP(
					"",
					"See the note.",
				)+`<w:p><w:del><w:r><w:t>gone</w:t></w:r></w:del><mc:AlternateContent><mc:Choice><w:r><w:t>Shown once.</w:t></w:r>`+
					`</mc:Choice><mc:Fallback><w:r><w:t>Shown once.</w:t></w:r></mc:Fallback></mc:AlternateContent></w:p>`,
				"word/footnotes.xml",
				`<w:footnotes `+wordNS+`><w:footnote>`+WordP("", "As measured in Lund.")+`</w:footnote></w:footnotes>`,
			),
			[]Place{{Text: "Shown once."}, {Text: "[^1]: As measured in Lund."}},
		},
		{
			"elsewhere.docx",
			core.FileDOCX,
			ZipFile(
				tb,
				"[Content_Types].xml",
				"<Types/>",
				"_rels/.rels",
				`<Relationships><Relationship Type="http://x/relationships/officeDocument" Target="/word/letter2.xml"/></Relationships>`,
				"word/_rels/letter2.xml.rels",
				`<Relationships><Relationship Type="http://x/relationships/footnotes" Target="below.xml"/></Relationships>`,
				"word/below.xml",
				`<w:footnotes `+wordNS+`><w:footnote w:id="-1">`+WordP(
					"",
					"",
				)+`</w:footnote><w:footnote w:id="7">`+WordP(
					"",
					"Paid in May.",
				)+WordP(
					"",
					"In cash.",
				)+`</w:footnote></w:footnotes>`,
				"word/letter2.xml",
				`<w:document `+wordNS+`><w:body><w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>Rent</w:t></w:r></w:p>`+
					`<w:tbl><w:tr><w:tc><w:p><w:r><w:t>April</w:t><w:footnoteReference w:id="7"/></w:r></w:p></w:tc></w:tr><w:tr><w:tc>`+
					WordP("", "June")+`</w:tc></w:tr></w:tbl>`+
					`<w:p><w:pPr><w:outlineLvl w:val="0"/></w:pPr><w:r><w:t>Repairs</w:t></w:r></w:p>`+
					`<w:p><w:r><w:t>12 Mill Lane</w:t><w:br/><w:br/><w:t>The boiler leaks. </w:t><w:drawing><wp:docPr descr="a wet `+
					`floor"/></w:drawing></w:r></w:p></w:body></w:document>`,
			),
			[]Place{
				{"| June |", "Rent", 0},
				{"[^1]: Paid in May.", "Rent", 0},
				{"In cash.", "Rent", 0},
				{"12 Mill Lane", "Repairs", 0},
				{"The boiler leaks.", "Repairs", 0},
				{"[a wet floor]", "Repairs", 0},
			},
		},
		{
			"lists.docx",
			core.FileDOCX,
			word(
				tb,
				listP(
					"1",
					"0",
					"Fill the tank.",
				)+WordP(
					"",
					"Wait.",
				)+listP(
					"1",
					"0",
					"Close the lid.",
				)+listP(
					"1",
					"1",
					"Firmly.",
				)+listP(
					"2",
					"0",
					"Start anew.",
				)+
					listP(
						"3",
						"0",
						"With the third.",
					)+WordP(
					"Punkt",
					"By style alone.",
				)+`<w:p><w:pPr><w:pStyle w:val="Punkt"/><w:numPr><w:numId w:val="0"/></w:numPr></w:pPr><w:r>`+
					`<w:t>In no list.</w:t></w:r></w:p>`,
				"word/numbering.xml",
				`<w:numbering `+wordNS+`><w:abstractNum w:abstractNumId="5"><w:lvl w:ilvl="0"><w:start w:val="1"/>`+
					`<w:numFmt w:val="decimal"/></w:lvl><w:lvl w:ilvl="1"><w:numFmt w:val="bullet"/></w:lvl></w:abstractNum>`+
					`<w:num w:numId="1"><w:abstractNumId w:val="5"/></w:num><w:num w:numId="2"><w:abstractNumId w:val="5"/>`+
					`<w:lvlOverride w:ilvl="0"><w:startOverride w:val="8"/></w:lvlOverride></w:num><w:num w:numId="3">`+
					`<w:abstractNumId w:val="5"/></w:num></w:numbering>`,
			),
			[]Place{
				{Text: "1. Fill the tank."},
				{Text: "2. Close the lid."},
				{Text: "- Firmly."},
				{Text: "8. Start anew."},
				{Text: "9. With the third."},
				{Text: "- By style alone."},
				{Text: "In no list."},
			},
		},
	}
}

func bookSamples(tb testing.TB) []Sample {
	tb.Helper()
	return []Sample{
		{
			"tale.epub",
			core.FileEPUB,
			EPUB(
				tb,
				"A Tale of Tides",
				"<h1>One</h1><p>The tide was out when Mara woke.</p>",
				"<h1>Two</h1><p>Nobody saw the second boat &mdash; nobody.</p>",
			),
			[]Place{{"The tide was out when Mara woke.", "One", 0}, {"Nobody saw the second boat — nobody.", "Two", 0}},
		},
		{
			"guide.epub",
			core.FileEPUB,
			EPUB(tb, "Guide", "<h2>Knots</h2><ol><li>A bowline never slips.</li></ol><p><img src='a.png' alt='a bowline'/></p>"),
			[]Place{{"1. A bowline never slips.", "Knots", 0}, {"[a bowline]", "Knots", 0}},
		},
		{
			"steps.epub",
			core.FileEPUB,
			EPUB(
				tb,
				"Steps",
				"<h1><span><br/></span><b>Boats</b></h1><ul><li><p>Bail her out.</p><p>Twice.</p></li><li><div><ol start='4'><li>"+
					"<p>Untie the rope.</p></li><li>Push off.<ul><li>Gently.</li></ul></li><li>Row.</li></ol></div>"+
					"</li></ul><p>Then rest.</p>",
				"<h1>Verse</h1><p>The sea is wide,<br/>the boat is small.<br/>\n<br/>Row on!</p>",
				"<nav><h1>Contents</h1><ol><li><a href='x'>Boats, again</a></li></ol></nav>",
			),
			[]Place{
				{"- Bail her out.", "Boats", 0},
				{"Twice.", "Boats", 0},
				{"4. Untie the rope.", "Boats", 0},
				{"5. Push off.", "Boats", 0},
				{"- Gently.", "Boats", 0},
				{"6. Row.", "Boats", 0},
				{"Then rest.", "Boats", 0},
				{"The sea is wide, the boat is small.", "Verse", 0},
				{"Row on!", "Verse", 0},
				{"- Boats, again", "Contents", 0},
			},
		},
		{
			"spineless.epub",
			core.FileEPUB,
			ZipFile(
				tb,
				"mimetype",
				"application/epub+zip",
				"META-INF/container.xml",
				`<container><rootfiles><rootfile full-path="book.opf"/></rootfiles></container>`,
				"book.opf",
				`<package><manifest><item id="b" href="b.xhtml" media-type="application/xhtml+xml"/><item id="a" href="a.xhtml" `+
					`media-type="application/xhtml+xml"/></manifest><spine/></package>`,
				"a.xhtml",
				`<html><body><h1>Second</h1><p>The eel went home.</p></body></html>`,
				"b.xhtml",
				`<html><body><h1>First</h1><p>The eel was late.</p></body></html>`,
			),
			[]Place{{"The eel was late.", "First", 0}, {"The eel went home.", "Second", 0}},
		},
		{
			"sloppy.epub",
			core.FileEPUB,
			EPUB(tb, "Sloppy", "<p>Not <b>well-formed at all.</p><br>", "<h3>Fine</h3><p>But read all the same.</p>"),
			[]Place{{"Not well-formed at all.", "", 0}, {"But read all the same.", "Fine", 0}},
		},
	}
}

func pdfSamples() []Sample {
	pages := [][]string{
		{
			"Survey of the bay",
			"The survey of the bay began in June with three boats and a crew of",
			"eleven. Every sounding was written down twice, once by hand and once",
			"by the recorder (model 4).",
		},
		{
			"Results",
			"The deepest point lies north of the island at forty-one metres. Nobody",
			"expected the sand bank to have moved by almost two hundred metres in ten",
			"years.",
		},
		{"Thanks", "We thank the harbour master."},
	}
	want := []Place{
		{"Every sounding was written down twice, once by hand and once by the recorder (model 4).", "Survey of the bay", 1},
		{"Nobody expected the sand bank to have moved by almost two hundred metres in ten years.", "Results", 2},
		{"We thank the harbour master.", "Thanks", 3},
	}
	return []Sample{
		{"plain.pdf", core.FilePDF, Report(false, pages...), want},
		{"packed.pdf", core.FilePDF, Report(true, pages...), want},
		{
			"modern.pdf",
			core.FilePDF,
			modernPDF(),
			[]Place{{"Zażółć gęślą jaźń.", "", 1}, {"Inside a form.", "", 1}, {"Set in pieces.", "", 1}},
		},
	}
}

// modernPDF has what programs write today: a font of two-byte codes with a map to Unicode, kerning, a form, a turned page.
func modernPDF() []byte {
	p := NewPDF(true)
	text := []rune("Zażółć gęślą jaźń.")
	var codes, cmap strings.Builder
	cmap.WriteString("/CIDInit /ProcSet findresource begin begincmap 1 begincodespacerange <0000> <FFFF> endcodespacerange\n")
	fmt.Fprintf(&cmap, "%d beginbfchar\n", len(text))
	for i, r := range text {
		fmt.Fprintf(&codes, "%04X", i+1)
		fmt.Fprintf(&cmap, "<%04X> <%04X>\n", i+1, r)
	}
	cmap.WriteString("endbfchar endcmap end")
	p.Object(1, "<< /Type /Catalog /Pages 2 0 R >>")
	p.Object(2, "<< /Type /Pages /Count 1 /Kids [3 0 R] >>")
	p.Object(
		3,
		"<< /Type /Page /Parent 2 0 R /MediaBox [0 0 612 792] /Rotate 90 /Contents [4 0 R 5 0 R] /Resources << /Font << /F1 6 0 R /F2 9 "+
			"0 R >> /XObject << /X1 10 0 R >> >> >>",
	)
	p.Stream(4, "", "q 0 1 -1 0 612 0 cm BT /F1 12 Tf 1 0 0 1 50 500 Tm <"+codes.String()+"> Tj ET")
	p.Stream(
		5,
		"",
		"BT /F2 12 Tf 50 400 Td [(S) 20 (et) -278 (in) -300 (pi) 15 (eces.)] TJ ET /X1 Do Q\nBI /W 2 /H 2 /BPC 8 /CS /G ID \x01(Tj EI\n",
	)
	p.Object(6, "<< /Type /Font /Subtype /Type0 /BaseFont /Some /Encoding /Identity-H /DescendantFonts [7 0 R] /ToUnicode 8 0 R >>")
	p.Object(7, "<< /Type /Font /Subtype /CIDFontType2 /BaseFont /Some /DW 500 /W [1 [600 500] 3 5 450] >>")
	p.Stream(8, "", cmap.String())
	p.Object(
		9,
		"<< /Type /Font /Subtype /Type1 /BaseFont /Times-Roman /Encoding << /Differences [1 /I /n /s /i /d /e /space /a "+
			"/f /o /r /m /period] >> >>",
	)
	p.Stream(
		10,
		"/Type /XObject /Subtype /Form /BBox [0 0 1 1] /Matrix [1 0 0 1 0 -100]",
		"BT /F2 12 Tf 50 300 Td (\\001\\002\\003\\004\\005\\006\\007\\010\\007\\011\\012\\013\\014\\015) Tj ET /X1 Do",
	)
	return p.End("")
}
