// Package theme derives everything that has a colour from a few tokens: the
// styles of the chat and of its Markdown. There is one accent. Every theme
// reads well without colours too: marks and words carry the meaning, and colour
// only repeats it. The package does no work until New is called and knows
// nothing about chats.
package theme

import (
	"charm.land/glamour/v2/ansi"
	"charm.land/lipgloss/v2"
)

// Kind says which tokens a theme uses.
type Kind int

// The kinds of themes.
const (
	Dark  Kind = iota // for dark backgrounds
	Light             // for light backgrounds
	None              // no colours at all
)

// tokens are colours from the 256-colour palette; empty means the terminal's
// own.
type tokens struct {
	accent, dim, good, bad, warn, code, syntax string
}

func tokensOf(k Kind) tokens {
	switch k {
	case Light:
		return tokens{accent: "61", dim: "244", good: "28", bad: "160", warn: "130", code: "97", syntax: "github"}
	case None:
		return tokens{}
	case Dark:
	}
	return tokens{accent: "110", dim: "245", good: "108", bad: "174", warn: "179", code: "146", syntax: "nord"}
}

// QuoteMark stands to the left of quoted text.
const QuoteMark = "┃"

// Theme is a set of styles. The zero value isn't usable; call New.
type Theme struct {
	Kind Kind

	Accent lipgloss.Style // marks and the selection
	Strong lipgloss.Style // names, titles, what a person said
	Dim    lipgloss.Style // secondary text
	Good   lipgloss.Style // added, done
	Bad    lipgloss.Style // removed, failed
	Warn   lipgloss.Style // needs attention
	Plain  lipgloss.Style

	tokens tokens
}

// New returns the theme of a kind.
func New(k Kind) Theme {
	t := tokensOf(k)
	fg := func(c string) lipgloss.Style {
		if c == "" {
			return lipgloss.NewStyle()
		}
		return lipgloss.NewStyle().Foreground(lipgloss.Color(c))
	}
	th := Theme{
		Kind: k, Accent: fg(t.accent), Dim: fg(t.dim), Good: fg(t.good), Bad: fg(t.bad), Warn: fg(t.warn),
		Strong: lipgloss.NewStyle().Bold(true), Plain: lipgloss.NewStyle(), tokens: t,
	}
	if k == None {
		th.Accent, th.Bad = th.Accent.Bold(true), th.Bad.Bold(true)
		th.Dim = th.Dim.Faint(true)
	}
	return th
}

// Markdown is the theme as a Markdown style: flush left, no margins, and nothing
// to the left of code that would get copied with it.
func (t Theme) Markdown() ansi.StyleConfig {
	c := ansi.StyleConfig{
		Heading: ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Bold: on(), Color: color(t.tokens.accent)}},
		H1:      ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Underline: on()}},
		BlockQuote: ansi.StyleBlock{
			StylePrimitive: ansi.StylePrimitive{Color: color(t.tokens.dim)},
			Indent:         num(1),
			IndentToken:    text(QuoteMark + " "),
		},
		List:           ansi.StyleList{LevelIndent: 2},
		Item:           ansi.StylePrimitive{BlockPrefix: "• "},
		Enumeration:    ansi.StylePrimitive{BlockPrefix: ". "},
		Task:           ansi.StyleTask{Ticked: "☑ ", Unticked: "☐ "},
		Emph:           ansi.StylePrimitive{Italic: on()},
		Strong:         ansi.StylePrimitive{Bold: on()},
		Strikethrough:  ansi.StylePrimitive{CrossedOut: on()},
		HorizontalRule: ansi.StylePrimitive{Format: "─────", Color: color(t.tokens.dim)},
		Link:           ansi.StylePrimitive{Underline: on(), Color: color(t.tokens.dim)},
		LinkText:       ansi.StylePrimitive{Color: color(t.tokens.accent)},
		Image:          ansi.StylePrimitive{Underline: on(), Color: color(t.tokens.dim)},
		ImageText:      ansi.StylePrimitive{Format: "{{.text}} →", Color: color(t.tokens.dim)},
		Code:           ansi.StyleBlock{StylePrimitive: ansi.StylePrimitive{Color: color(t.tokens.code)}},
		CodeBlock:      ansi.StyleCodeBlock{Theme: t.tokens.syntax},
		Table:          ansi.StyleTable{CenterSeparator: text("┼"), ColumnSeparator: text("│"), RowSeparator: text("─")},
		DefinitionTerm: ansi.StylePrimitive{Bold: on()},
		DefinitionDescription: ansi.StylePrimitive{
			BlockPrefix: "\n  ",
		},
	}
	if t.Kind == None {
		c.Code.Prefix, c.Code.Suffix = "`", "`"
	}
	return c
}

func on() *bool             { b := true; return &b }
func num(n uint) *uint      { return &n }
func text(s string) *string { return &s }

func color(c string) *string {
	if c == "" {
		return nil
	}
	return &c
}
