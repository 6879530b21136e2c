// Package facts knows what models there are and what each takes and costs, from one table that is part of the program.
//
// The table is made by ./generate from two public catalogues and a few families of our own, and says of when it is. It is
// read when it is first needed, and only the part of the provider that is asked for; nothing is fetched. What a server
// says of itself and what a person configures count before it.
package facts

import (
	_ "embed" // for the table
	"slices"
	"strconv"
	"strings"
	"sync"

	"loci/core"
)

//go:embed table.tsv
var table string

// Fact is what is known of a model; zero values are unknown.
type Fact struct {
	Name      string // as its provider calls it; of a family: how its members' names begin
	Window    int    // tokens
	MaxOutput int    // tokens
	Known     bool   // the flags below are known; of a family only those that are set
	Tools     bool
	Reasoning bool
	Sampling  bool // takes a temperature
	Schema    bool // takes a schema of its answer
	Open      bool // its weights are public
	Binds     bool // its reasoning is valid only after an unchanged prefix
	Inputs    []string
	NoImages  bool     // takes none, as far as a family knows
	Efforts   []string // the reasoning efforts it has, weakest first
	Price     *core.Price
}

// Images says whether the model takes images.
func (f *Fact) Images() core.ImageInput {
	switch {
	case slices.Contains(f.Inputs, "image"):
		return core.ImagesTaken
	case f.Known, f.NoImages:
		return core.ImagesRefused
	}
	return core.ImagesUnknown
}

// families is the section of the table whose rows are beginnings of names.
const families = "*"

// Made says what the table was made from, and of when that is.
func Made() string {
	line, _, _ := strings.Cut(table, "\n")
	return strings.TrimPrefix(line, "# ")
}

// Providers names the providers that the table has models of.
func Providers() []string {
	var out []string
	for line := range strings.Lines(table) {
		if name, ok := heading(line); ok && name != families {
			out = append(out, name)
		}
	}
	return out
}

func heading(line string) (string, bool) {
	name, ok := strings.CutPrefix(strings.TrimSuffix(line, "\n"), "[")
	return strings.TrimSuffix(name, "]"), ok
}

// section is what the table has of a provider.
type section struct {
	once  sync.Once
	facts []Fact
	named map[string]int
}

var sections sync.Map // by provider

// of returns what the table has of a provider, in its order. Nothing is kept of names that the table doesn't have.
func of(provider string) *section {
	_, rest, ok := strings.Cut(table, "\n["+provider+"]\n")
	if !ok {
		return &section{}
	}
	kept, _ := sections.LoadOrStore(provider, &section{})
	s, _ := kept.(*section)
	s.once.Do(func() { s.read(rest) })
	return s
}

func (s *section) read(rows string) {
	s.named = map[string]int{}
	rows, _, _ = strings.Cut(rows, "\n[")
	for line := range strings.Lines(rows) {
		if f, ok := parse(strings.TrimSuffix(line, "\n")); ok {
			s.named[strings.ToLower(f.Name)] = len(s.facts)
			s.facts = append(s.facts, f)
		}
	}
}

// All returns the models of a provider, in the table's order.
func All(provider string) []Fact { return slices.Clone(of(provider).facts) }

// Sold returns what is known of a model at a provider, with what it costs there. A version with its date in the name is that
// without.
func Sold(provider, model string) (Fact, bool) {
	s := of(provider)
	name := strings.ToLower(model)
	for _, name := range []string{name, undated(name)} {
		if at, ok := s.named[name]; ok {
			return s.facts[at], true
		}
	}
	return Fact{}, false
}

// Family returns what is known of a model by its name alone, whoever runs it: a vendor's own model, else the family that its
// name belongs to. It has no price.
func Family(model string) (Fact, bool) {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, vendor := range vendors {
		if f, ok := Sold(vendor, name); ok {
			f.Price = nil
			return f.With(family(name)), true
		}
	}
	f := family(name)
	return f, f.Name != ""
}

// vendors are the providers that sell what they make.
var vendors = []string{"openai", "anthropic", "google_ai", "deepseek", "xai", "mistral", "zai", "minimax", "moonshot"}

func family(name string) Fact {
	for _, f := range of(families).facts {
		if strings.HasPrefix(name, f.Name) {
			return f
		}
	}
	return Fact{}
}

// With adds what only a family knows.
func (f Fact) With(family Fact) Fact {
	f.Open, f.Binds = f.Open || family.Open, f.Binds || family.Binds
	return f
}

// undated returns a name without a date at its end, like -2026-03-05 or -20260305.
func undated(name string) string {
	digits := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	if n := len(name); n > 11 && name[n-11] == '-' && digits(name[n-10:n-6]) && name[n-6] == '-' && digits(name[n-5:n-3]) &&
		name[n-3] == '-' && digits(name[n-2:]) {
		return name[:n-11]
	}
	if n := len(name); n > 9 && name[n-9] == '-' && digits(name[n-8:]) && name[n-8] == '2' {
		return name[:n-9]
	}
	return name
}

// columns of a row.
const (
	colName = iota
	colWindow
	colOutput
	colFlags
	colEfforts
	colPrice
	columns
)

// parse reads a row: name, window, limit of the answer, flags, efforts, and prices in dollars for a million tokens (input,
// output, cache read, cache write), with those above a size behind "|size:".
func parse(line string) (Fact, bool) {
	cells := strings.Split(line, "\t")
	if len(cells) != columns {
		return Fact{}, false
	}
	f := Fact{Name: cells[colName], Window: number(cells[colWindow]), MaxOutput: number(cells[colOutput])}
	for _, flag := range cells[colFlags] {
		f.flag(flag)
	}
	if cells[colEfforts] != "" {
		f.Efforts = strings.Split(cells[colEfforts], ",")
	}
	f.Price = prices(cells[colPrice])
	return f, true
}

// flag reads one letter of a row's flags.
func (f *Fact) flag(letter rune) {
	switch letter {
	case 'k':
		f.Known = true
	case 't':
		f.Tools = true
	case 'r':
		f.Reasoning = true
	case 's':
		f.Sampling = true
	case 'j':
		f.Schema = true
	case 'o':
		f.Open = true
	case 'b':
		f.Binds = true
	case 'n':
		f.NoImages = true
	case 'i':
		f.Inputs = append(f.Inputs, "image")
	case 'p':
		f.Inputs = append(f.Inputs, "pdf")
	case 'a':
		f.Inputs = append(f.Inputs, "audio")
	case 'v':
		f.Inputs = append(f.Inputs, "video")
	}
}

func number(text string) int {
	n, _ := strconv.Atoi(text) // none is none
	return n
}

// prices reads what a model costs; nil if that is unknown.
func prices(text string) *core.Price {
	if text == "" {
		return nil
	}
	parts := strings.Split(text, "|")
	p := price(parts[0])
	for _, part := range parts[1:] {
		size, rest, _ := strings.Cut(part, ":")
		a := price(rest)
		p.Above = append(p.Above, core.PriceAbove{
			Over: number(size), Input: a.Input, Output: a.Output, CacheRead: a.CacheRead, CacheWrite: a.CacheWrite,
		})
	}
	return &p
}

// price reads the four prices of a row. What is read from a cache or written to one costs what input does, unless the row
// says otherwise.
func price(text string) core.Price {
	var p core.Price
	cells := append(strings.Split(text, " "), "", "", "", "")
	for i, to := range []*core.Money{&p.Input, &p.Output, &p.CacheRead, &p.CacheWrite} {
		if *to = p.Input; cells[i] != "" && cells[i] != "-" {
			*to, _ = PerMillion(cells[i])
		}
	}
	return p
}

// PerMillion reads dollars for a million tokens as the price of one.
func PerMillion(text string) (core.Money, error) {
	m, err := core.ParseMoney(text)
	return m / 1_000_000, err
}
