package parsers_test

import (
	"strings"
	"testing"

	"loci/core"
	"loci/tools/parsers/parserstest"
)

func TestWordGapsAreSeenFromWhereTheGlyphsStand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, draws, want string }{
		{"character spacing parts two words", "3 Tc (hi) Tj", "h i"},
		{"a number takes character spacing back", "3 Tc [(ti)300(fw)300(ed)] TJ", "t if we d"},
		{"character spacing before another font size", "3 Tc (fa) Tj 0 Tc /F1 9 Tf (range) Tj", "f a range"},
		{"word spacing takes a space back", "-2.6 Tw (rat io) Tj", "ratio"},
		{"word spacing narrows a space", "-0.8 Tw (two words) Tj", "two words"},
		{"word spacing widens a space", "20 Tw (two words) Tj", "two words"},
		{"letters of a heading are set apart", "3 Tc (HEADING) Tj", "HEADING"},
		{"words of a heading are set apart too", "3 Tc (TWO WORDS) Tj", "TWO WORDS"},
		{"a number parts words of a heading", "3 Tc [(FIVE)-400(WORDS)] TJ", "FIVE WORDS"},
		{"a short word goes on with a heading", "3 Tc (HEADING) Tj ( OF) Tj", "HEADING OF"},
		{"kerning parts no words", "[(W)90(A)-120(VE)] TJ", "WAVE"},
		{"narrow writing has narrow gaps", "50 Tz [(two)-250(words)] TJ", "two words"},
		{
			"a string that is longer than what is looked at together", "(" + strings.Repeat("word ", 2000) + "end) Tj",
			strings.Repeat("word ", 2000) + "end",
		},
	} {
		data := parserstest.PDFWith("BT /F1 10 Tf 72 700 Td "+c.draws+" ET", false, nil)
		doc := parse(t, parserstest.Sample{Name: "drawn.pdf", Kind: core.FilePDF, Data: data})
		if got := strings.TrimLeft(strings.TrimSpace(doc.Text), "# "); got != c.want {
			t.Errorf("%s: %.60q, want %.60q", c.what, got, c.want)
		}
	}
}
