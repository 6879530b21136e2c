package transcript

import (
	"strings"
	"testing"

	"loci/tui/theme"

	"github.com/charmbracelet/x/ansi"
)

func TestAnOpenParagraphGivesItsRowsEarlyAndReadsAsOne(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"plain":  strings.Repeat("some words of a long paragraph ", 20),
		"marked": strings.Repeat("some **bold words** and `code` and _more_ [link](http://x/y) ", 20),
	} {
		s := Stream{Wide: 40}
		r := NewRenderer(theme.New(theme.None), 40)
		var blocks []Block
		for word := range strings.SplitAfterSeq(text, " ") {
			blocks = append(blocks, s.Write(word)...)
			if n := strings.Count(r.Open(s.Open(), 50), "\n"); n > 8 {
				t.Errorf("%s: %d rows are open", name, n)
			}
		}
		early := len(blocks)
		blocks = append(blocks, s.Close()...)
		var got strings.Builder
		for i, b := range blocks {
			if b.Tight != (i > 0) {
				t.Errorf("%s: block %d tight: %v", name, i, b.Tight)
			}
			got.WriteString(r.Markdown(b) + "\n")
		}
		whole := r.Markdown(Block{Source: text + "\n"})
		if early < 3 ||
			strings.Join(strings.Fields(ansi.Strip(got.String())), " ") != strings.Join(strings.Fields(ansi.Strip(whole)), " ") {
			t.Errorf("%s: %d early blocks read\n%s\nwant\n%s", name, early, got.String(), whole)
		}
		if name == "plain" && strings.TrimSpace(got.String()) != whole {
			t.Errorf("cut at another place than the wrap:\n%s\nwant\n%s", got.String(), whole)
		}
	}
}

func TestAnOpenParagraphAfterAnotherBlockGivesItsRowsEarlyToo(t *testing.T) {
	t.Parallel()
	s := Stream{Wide: 40}
	s.Write("```\ncode\n```\n\nsome ")
	var early []Block
	for range 40 {
		early = append(early, s.Write("words ")...)
	}
	if len(early) < 3 || early[0].Source != "```\ncode\n```\n\n" || early[1].Tight || !early[2].Tight {
		t.Errorf("early blocks: %+v", early)
	}
}

func TestAnOpenParagraphWithAnOpenMarkIsNotCut(t *testing.T) {
	t.Parallel()
	for _, start := range []string{
		"**never closed ", "a | b ", "1. item ", "- item ", "# head ", "> quote ", "see [a link ", "some `code ",
	} {
		s := Stream{Wide: 40}
		if got := s.Write(start + strings.Repeat("words ", 20)); len(got) > 0 {
			t.Errorf("%q was cut after %q", start, got[0].Source)
		}
	}
	for _, start := range []string{"1. item ", "- item ", "# head ", "> quote ", "    code ", "| a | b ", "[x]: y "} {
		s := Stream{Wide: 40}
		if got := s.Write(start + strings.Repeat("words ", 60)); len(got) > 0 && start != "| a | b " && start != "[x]: y " {
			t.Errorf("%q was cut after %q", start, got[0].Source)
		}
	}
}

func TestALongParagraphIsCutWhateverIsOpenInIt(t *testing.T) {
	t.Parallel()
	for start, tail := range map[string]string{
		"A **bold ": "end** of it.", "a | b ": "", "1984 was ": "", "see [a ": "link](http://x/y) there.", "some `code ": "more` here.",
		"“Quoted ": "”", "_It **is ": "so** then_ over.", "5 * 3 and 2_a_b ": "", "**Bold** and *thin ": "end*.", "\\*no mark ": "*",
	} {
		s := Stream{Wide: 40}
		r := NewRenderer(theme.New(theme.Dark), 40)
		whole := start + strings.Repeat("words ", 60) + tail
		var got strings.Builder
		for word := range strings.SplitAfterSeq(whole, " ") {
			for _, b := range s.Write(word) {
				got.WriteString(ansi.Strip(r.Markdown(b)) + "\n")
			}
			if n := strings.Count(r.Open(s.Open(), 50), "\n"); n > overdueRows+1 {
				t.Errorf("%q: %d rows are open", start, n)
			}
		}
		if left := len(whole) - s.Pending(); left < 150 || !strings.HasSuffix(whole[:left], " ") {
			t.Errorf("%q: %d of %d bytes are final", start, left, len(whole))
		}
		for _, b := range s.Close() {
			got.WriteString(ansi.Strip(r.Markdown(b)) + "\n")
		}
		want := strings.Join(strings.Fields(ansi.Strip(r.Markdown(Block{Source: whole + "\n"}))), " ")
		if strings.HasPrefix(start, "see [") {
			want = strings.Join(strings.Fields(whole), " ") // the link becomes plain text
		}
		if text := strings.Join(strings.Fields(got.String()), " "); text != want {
			t.Errorf("%q reads\n%s\nwant\n%s", start, text, want)
		}
	}
}
