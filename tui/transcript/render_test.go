package transcript

import (
	"math/rand/v2"
	"strings"
	"testing"

	"loci/tui/term"
	"loci/tui/theme"

	"github.com/charmbracelet/x/ansi"
	"github.com/charmbracelet/x/exp/golden"
)

const sample = "# Trip to Kyōto\n\nYou said you like **quiet** places, *tea* and `go test ./...` — so:\n\n" +
	"1. Philosopher's Path\n2. Kennin-ji, early, before the groups that come with the first buses from the station " +
	"arrive\n   - bring cash\n\n" +
	"> walk slowly\n\n```go\nfunc main() {\n\tfmt.Println(\"a line that is rather long so that it does not fit into eighty " +
	"columns at all\")\n}\n```\n\n" +
	"| place | when | 価格 |\n|---|:-:|--:|\n| Nanzen-ji | 08:30 | 600 |\n| 京都 | 10:00 | 1200 |\n\n---\n\n" +
	"See [the map](https://example.org/map) ~~or not~~.\n\n- [x] booked\n- [ ] packed\n"

func items() []Item {
	return []Item{
		{Kind: User, Text: "Plan a day in Kyōto.\nI have until six."},
		{Kind: Reasoning, Text: "The person likes quiet places. I should look at what I know and then plan around opening times."},
		{
			Kind: Tool,
			Call: Call{Name: "conversation_search", Arguments: `{"query":"Kyōto 京都"}`, Return: `{"results":[1,2,3]}`, Done: true},
		},
		{
			Kind: Tool,
			Call: Call{
				Name: "memory_insert",
				Arguments: `{"label":"human","new_str":"Likes quiet places, tea and long walks before noon, dislikes ` +
					`buses","insert_line":-1}`,
				Done: true,
			},
		},
		{
			Kind: Tool,
			Call: Call{
				Name:      "core_memory_replace",
				Arguments: `{"label":"human","old_content":"Lives in Oslo","new_content":"Lives in Kyōto"}`,
				Done:      true,
			},
		},
		{Kind: Tool, Call: Call{Name: "roll_dice", Arguments: `{"sides":20,"why":"luck"}`}},
		{
			Kind: Tool,
			Call: Call{
				Name:      "memory_replace",
				Arguments: `{"label":"human","old_str":"x","new_str":"y"}`,
				Done:      true,
				Failed:    true,
				Return:    "no such text in the block human: x",
			},
		},
		{Kind: Assistant, Text: sample},
		{Kind: Notice, Text: "model: openai/gpt-4o"},
		{Kind: Failure, Text: "the provider does not answer"},
		{Kind: User, Text: "lost words", Note: "not delivered"},
		{Kind: Recalled, Text: "Earlier you spoke about tea."},
	}
}

func draw(r *Renderer, open bool) string {
	var b strings.Builder
	list := items()
	for i, it := range list {
		if i > 0 {
			b.WriteString("\n")
			if Gap(list[i-1].Kind, it.Kind) {
				b.WriteString("\n")
			}
		}
		b.WriteString(r.Item(it, open))
	}
	return b.String() + "\n"
}

func TestItemsAreDrawnForEveryThemeAndWidth(t *testing.T) {
	t.Parallel()
	cases := map[string]struct {
		kind  theme.Kind
		width int
		open  bool
	}{
		"none80":  {theme.None, 80, false},
		"none20":  {theme.None, 20, false},
		"none200": {theme.None, 200, false},
		"open60":  {theme.None, 60, true},
		"dark80":  {theme.Dark, 80, false},
		"light80": {theme.Light, 80, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			out := draw(NewRenderer(theme.New(c.kind), c.width), c.open)
			for line := range strings.Lines(out) {
				if plain := ansi.Strip(strings.TrimSuffix(line, "\n")); plain != strings.TrimRight(plain, " ") {
					t.Errorf("spaces at the end of %q", plain)
				} else if term.Width(plain) > c.width && !strings.Contains(plain, "Println") {
					t.Errorf("%d cells: %q", term.Width(plain), plain)
				}
			}
			golden.RequireEqual(t, out)
		})
	}
}

func TestAStyledWordAtTheEndOfALineKeepsWhatFollowsIt(t *testing.T) {
	t.Parallel()
	for source, want := range map[string]string{
		"The answer is **42**":                       "The answer is 42",
		"The port is `8283`":                         "The port is 8283",
		"Run `go test`:":                             "Run go test:",
		"- in **1984**:\n- *one*; **two**;":          "• in 1984:\n• one; two;",
		"It was ~~12~~ 13, by [Ada](http://ada.md):": "It was 12 13, by Ada http://ada.md:",
		"1. `a`\n2. **2**\n3. at _12:30_":            "1. a\n2. 2\n3. at 12:30",
	} {
		for _, kind := range []theme.Kind{theme.Dark, theme.Light} {
			got := ansi.Strip(NewRenderer(theme.New(kind), 80).Markdown(Block{Source: source}))
			if got != want {
				t.Errorf("%q is drawn as %q, want %q", source, got, want)
			}
		}
	}
}

func TestTextFromOutsideCarriesNoControlSequences(t *testing.T) {
	t.Parallel()
	evil := "a\x1b]52;c;aGk=\x07b\x1b[2Jc\u202ed\x9b31me\x00f\x7f\rg"
	r := NewRenderer(theme.New(theme.None), 80)
	for _, it := range []Item{
		{Kind: User, Text: evil},
		{Kind: Assistant, Text: evil},
		{Kind: Assistant, Text: "```" + evil + "\n" + evil + "\n```\n"},
		{Kind: Reasoning, Text: evil},
		{Kind: Notice, Text: evil},
		{Kind: Failure, Text: evil},
		{Kind: Tool, Call: Call{Name: evil, Arguments: `{"a":"\u001b[2J\u001b]0;x\u0007"}`, Return: evil, Done: true, Failed: true}},
	} {
		for _, open := range []bool{false, true} {
			got := r.Item(it, open)
			if strings.Contains(got, "\x1b]52") || strings.Contains(got, "[2J") || strings.ContainsAny(got, "\x07\x00\x7f\r\u202e") {
				t.Errorf("kind %d: %q", it.Kind, got)
			}
		}
	}
}

func TestAnOpenBlockShowsItsEnd(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 20)
	long := strings.Repeat("word ", 100_000) + "end"
	got := r.Open(long, 5)
	if rows := strings.Split(got, "\n"); len(rows) != 5 || rows[0] != term.CutMark || !strings.HasSuffix(rows[4], "end") {
		t.Errorf("%q", got)
	}
	if got := r.Open("```go\nfunc f() {\n", 5); got != "func f() {" {
		t.Errorf("an open fence: %q", got)
	}
	if got := r.Open("漢漢漢漢漢漢漢漢漢漢漢", 5); got != "漢漢漢漢漢漢漢漢漢漢\n漢" {
		t.Errorf("wide characters: %q", got)
	}
}

func TestAStreamedAnswerIsDrawnAsAWholeOne(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.Dark), 80)
	s := Stream{Long: 10}
	var parts []string
	add := func(blocks []Block) {
		for _, b := range blocks {
			if !b.Tight && len(parts) > 0 {
				parts = append(parts, "")
			}
			parts = append(parts, r.Markdown(b))
		}
	}
	for _, c := range sample {
		add(s.Write(string(c)))
	}
	add(s.Close())
	if got, want := strings.Join(parts, "\n"), r.Item(Item{Kind: Assistant, Text: sample}, false); got != want {
		t.Errorf("streamed:\n%s\nwhole:\n%s", got, want)
	}
}

func TestAFenceInPiecesIsDrawnAsAWholeOne(t *testing.T) {
	t.Parallel()
	var code strings.Builder
	code.WriteString("```go\n")
	for range 12 {
		code.WriteString("/* a comment\n\n   over lines */\nfunc f() { return `raw\n\nstring` }\n\n\n")
	}
	code.WriteString("```\n")
	for _, kind := range []theme.Kind{theme.None, theme.Dark} {
		r := NewRenderer(theme.New(kind), 80)
		s := Stream{Long: 5}
		var parts []string
		for l := range strings.Lines(code.String()) {
			for _, b := range s.Write(l) {
				if drawn := r.Markdown(b); drawn != "" {
					parts = append(parts, drawn)
				}
			}
		}
		if len(parts) < 5 {
			t.Fatalf("%d pieces", len(parts))
		}
		got, want := ansi.Strip(strings.Join(parts, "\n")), ansi.Strip(r.Markdown(Block{Source: code.String()}))
		if got != want {
			t.Errorf("in pieces:\n%s\nwhole:\n%s", got, want)
		}
	}
}

func TestLongBlocksInPiecesAreDrawnAsWholeOnes(t *testing.T) {
	t.Parallel()
	parts := []string{
		"A paragraph.\n\n",
		"# Title\n\n",
		"```go\nx := 1\n\n\ny := `a\nb`\n// c\n// d\n```\n",
		"\n",
		"~~~~\n```\nnot a fence\n```\n\nmore\n~~~~\n\n",
		"| a | b |\n|---|---|\n| 1 | 2 |\n\n",
		"```\nopen until the end\n",
	}
	rnd := rand.New(rand.NewPCG(3, 4))
	r := NewRenderer(theme.New(theme.None), 80)
	for range 150 {
		var doc strings.Builder
		for range 1 + rnd.IntN(8) {
			doc.WriteString(parts[rnd.IntN(len(parts))])
		}
		s := Stream{Long: 1 + rnd.IntN(4)}
		var got strings.Builder
		add := func(blocks []Block) {
			for _, b := range blocks {
				drawn := r.Markdown(b)
				if drawn == "" {
					continue
				}
				if got.Len() > 0 {
					got.WriteString("\n")
				}
				if got.Len() > 0 && !b.Tight {
					got.WriteString("\n")
				}
				got.WriteString(drawn)
			}
		}
		for rest := doc.String(); rest != ""; {
			n := min(1+rnd.IntN(40), len(rest))
			add(s.Write(rest[:n]))
			rest = rest[n:]
		}
		add(s.Close())
		want := r.Item(Item{Kind: Assistant, Text: doc.String()}, false)
		if strings.TrimRight(got.String(), "\n `") != strings.TrimRight(want, "\n `") {
			t.Fatalf("%q\nin pieces:\n%q\nwhole:\n%q", doc.String(), got.String(), want)
		}
	}
}
