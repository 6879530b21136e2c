// Command generate makes the table of models from clones of two public catalogues:
//
//	go run ./providers/facts/generate -models DIR -catwalk DIR -o providers/facts/table.tsv
//
// The first is github.com/anomalyco/models.dev, the second github.com/charmbracelet/catwalk; both are under the MIT licence,
// which ../NOTICE repeats. Each is read as git has it at HEAD, so that a bare clone will do. The second adds the models that the
// first doesn't have yet, and the differences between them are told, for somebody to look at. families.tsv, which we keep
// by hand, is what we know of names that neither has.
//
// The table is made now and then, looked at, and committed. It is not part of the build. The page docs/model-facts.md follows from
// it: go test ./providers/facts/generate -update writes it anew.
package main

import (
	"flag"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"slices"
	"strconv"
	"strings"

	_ "embed" // for the families
)

//go:embed families.tsv
var families string

func main() {
	models := flag.String("models", "", "clone of anomalyco/models.dev")
	catwalk := flag.String("catwalk", "", "clone of charmbracelet/catwalk")
	out := flag.String("o", "table.tsv", "table to write")
	flag.Parse()
	if err := run(*models, *catwalk, *out, os.Stderr); err != nil {
		fmt.Fprintln(os.Stderr, "generate:", err)
		os.Exit(1)
	}
}

// sources are the catalogues' names of our providers: the first one's, and the second one's.
var sources = [][3]string{
	{"openai", "openai", "openai"},
	{"anthropic", "anthropic", "anthropic"},
	{"google_ai", "google", "gemini"},
	{"google_vertex", "google-vertex", "vertexai"},
	{"openrouter", "openrouter", "openrouter"},
	{"deepseek", "deepseek", "deepseek"},
	{"groq", "groq", "groq"},
	{"together", "togetherai", ""},
	{"xai", "xai", "xai"},
	{"mistral", "mistral", ""},
	{"cerebras", "cerebras", "cerebras"},
	{"fireworks", "fireworks-ai", "fireworks"},
	{"zai", "zai", "zai"},
	{"minimax", "minimax", "minimax"},
	{"moonshot", "moonshotai", "moonshot"},
	{"huggingface", "huggingface", "huggingface"},
	{"azure", "azure", "azure"},
	{"bedrock", "amazon-bedrock", ""},
}

func run(modelsDir, catwalkDir, out string, progress io.Writer) error {
	first, err := openClone(modelsDir)
	if err != nil {
		return err
	}
	second, err := openClone(catwalkDir)
	if err != nil {
		return err
	}
	var b strings.Builder
	const made = "# anomalyco/models.dev %s of %s, charmbracelet/catwalk %s of %s\n"
	fmt.Fprintf(&b, made, first.commit, first.date, second.commit, second.date)
	for _, s := range sources {
		rows, err := first.modelsDev(s[1])
		if err != nil {
			return err
		}
		others, err := second.catwalk(s[2])
		if err != nil {
			return err
		}
		for name, other := range others {
			row, ok := rows[name]
			if !ok {
				rows[name] = other
				fmt.Fprintf(progress, "%s/%s: only in catwalk\n", s[0], name)
				continue
			}
			for _, said := range row.differs(&other) {
				fmt.Fprintf(progress, "%s/%s: %s\n", s[0], name, said)
			}
		}
		fmt.Fprintf(&b, "[%s]\n", s[0])
		for _, name := range slices.Sorted(maps.Keys(rows)) {
			row := rows[name]
			b.WriteString(row.line(name))
		}
	}
	b.WriteString("[*]\n")
	for line := range strings.Lines(families) {
		if !strings.HasPrefix(line, "#") {
			b.WriteString(line)
		}
	}
	return os.WriteFile(out, []byte(b.String()), 0o644) //nolint:gosec // part of the source
}

// model is a row of the table.
type model struct {
	window, output                           int
	tools, reasoning, sampling, schema, open bool
	inputs                                   []string
	efforts                                  []string
	prices                                   []prices
}

// prices are dollars for a million tokens, from a size of requests on; nil is unknown.
type prices struct {
	over                  int
	input, output         *float64
	cacheRead, cacheWrite *float64
}

// line writes a row, as the package facts reads it.
func (m *model) line(name string) string {
	flags := "k"
	for _, f := range []struct {
		on     bool
		letter string
	}{
		{m.tools, "t"},
		{m.reasoning, "r"},
		{m.sampling, "s"},
		{m.schema, "j"},
		{m.open, "o"},
		{slices.Contains(m.inputs, "image"), "i"},
		{slices.Contains(m.inputs, "pdf"), "p"},
		{slices.Contains(m.inputs, "audio"), "a"},
		{slices.Contains(m.inputs, "video"), "v"},
	} {
		if f.on {
			flags += f.letter
		}
	}
	var money []string
	for _, p := range m.prices {
		text := p.text()
		if p.over > 0 {
			text = strconv.Itoa(p.over) + ":" + text
		}
		money = append(money, text)
	}
	return strings.Join([]string{
		name, size(m.window), size(m.output), flags, strings.Join(m.efforts, ","), strings.Join(money, "|"),
	}, "\t") + "\n"
}

func size(n int) string {
	if n <= 0 {
		return ""
	}
	return strconv.Itoa(n)
}

func (p *prices) text() string {
	var cells []string
	for _, v := range []*float64{p.input, p.output, p.cacheRead, p.cacheWrite} {
		if v == nil {
			cells = append(cells, "-")
		} else {
			cells = append(cells, strconv.FormatFloat(math.Round(*v*1e6)/1e6, 'f', -1, 64))
		}
	}
	return strings.TrimRight(strings.Join(cells, " "), " -")
}

// differs says in what two catalogues differ that matters.
func (m *model) differs(o *model) []string {
	var out []string
	if m.window > 0 && o.window > 0 && m.window != o.window {
		out = append(out, fmt.Sprintf("window %d, catwalk %d", m.window, o.window))
	}
	if len(m.prices) == 0 || len(o.prices) == 0 {
		return out
	}
	for _, p := range []struct {
		what string
		a, b *float64
	}{
		{"input", m.prices[0].input, o.prices[0].input}, {"output", m.prices[0].output, o.prices[0].output},
	} {
		if p.a != nil && p.b != nil && math.Abs(*p.a-*p.b) > 1e-6 {
			out = append(out, fmt.Sprintf("%s costs %v, catwalk %v", p.what, *p.a, *p.b))
		}
	}
	return out
}
