package parsers_test

import (
	"net/url"
	"strings"
	"testing"

	"loci/core"
	"loci/tools/parsers"
)

func TestLinksOfAPageAreKeptWhereItsAddressIsKnown(t *testing.T) {
	t.Parallel()
	at, err := url.Parse("https://example.com/docs/intro")
	if err != nil {
		t.Fatal(err)
	}
	for name, tt := range map[string]struct{ page, want string }{
		"relative": {`<p>See <a href="../api">the API</a>.`, "See [the API](https://example.com/api)."},
		"whole":    {`<p><a href='http://b.test/x?y=1'>b</a>`, "[b](http://b.test/x?y=1)"},
		"in a list": {
			`<ul><li><a href="/a">a</a><li><a href="/b">b</a></ul>`, "- [a](https://example.com/a)\n- [b](https://example.com/b)",
		},
		"around a heading":   {`<a href="/a"><h2>Title</h2><p>more</p></a>`, "## [Title](https://example.com/a)\n\nmore"},
		"in a table":         {`<table><tr><td><a href="/a">a</a><td>b</table>`, "| [a](https://example.com/a) | b |"},
		"never closed":       {`<p><a href="/a">a<p>b`, "[a](https://example.com/a)\n\nb"},
		"in each other":      {`<p><a href="/a">a <a href="/b">b</a></a>`, "[a ](https://example.com/a)[b](https://example.com/b)"},
		"without a text":     {`<p>x<a href="/a"> <span></span></a>y`, "x y"},
		"to the same page":   {`<p><a href="#part">part</a>`, "part"},
		"that runs a script": {`<p><a href="javascript:alert(1)">go</a>`, "go"},
		"with a password":    {`<p><a href="https://u:p@b.test/">go</a>`, "go"},
		"with brackets":      {`<p><a href="/a_(b)">go</a>`, "[go](https://example.com/a_%28b%29)"},
		"too long":           {`<p><a href="/` + strings.Repeat("a", 600) + `">go</a>`, "go"},
		"in code":            {`<pre><a href="/a">a</a></pre>`, "```\na\n```"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := parsers.New().Parse(t.Context(), core.ParseInput{Name: "page.html", Data: []byte(tt.page), Address: at})
			if got := strings.TrimSpace(doc.Text); err != nil || got != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
			checkDocument(t, doc)
		})
	}
	doc, err := parsers.New().Parse(t.Context(), core.ParseInput{Name: "page.html", Data: []byte(`<p>See <a href="/api">the API</a>.`)})
	if err != nil || strings.TrimSpace(doc.Text) != "See the API." {
		t.Errorf("without an address: %q, %v", doc.Text, err)
	}
}

func TestTheCharsetThatAServerNamesCounts(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ file, data, charset, want string }{
		"a page":          {"page.html", "<p>\xcf\xf0\xe8\xe2\xe5\xf2", "windows-1251", "Привет"},
		"plain text":      {"page.txt", "\xcf\xf0\xe8\xe2\xe5\xf2", "windows-1251", "Привет"},
		"an unknown one":  {"page.txt", "caf\xe9", "no-such", "café"},
		"of the page":     {"page.html", "<meta charset=windows-1251><p>\xcf\xf0\xe8\xe2\xe5\xf2", "", "Привет"},
		"more than bytes": {"page.txt", "\x1b$B$3\x1b(B", "iso-2022-jp", "こ"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			doc, err := parsers.New().Parse(t.Context(), core.ParseInput{Name: tt.file, Data: []byte(tt.data), Charset: tt.charset})
			if got := strings.TrimSpace(doc.Text); err != nil || got != tt.want {
				t.Errorf("%q, %v; want %q", got, err, tt.want)
			}
		})
	}
}
