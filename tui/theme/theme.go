// Package theme derives everything that has a colour from a few tokens: the
// styles of the chat and of its Markdown. There is one accent. Every theme
// reads well without colours too: marks and words carry the meaning, and colour
// only repeats it. The package does no work until New is called and knows
// nothing about chats.
package theme

import "charm.land/lipgloss/v2"

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
	accent, dim, good, bad, warn, code string
}

func tokensOf(k Kind) tokens {
	switch k {
	case Light:
		return tokens{accent: "61", dim: "244", good: "28", bad: "160", warn: "130", code: "97"}
	case None:
		return tokens{}
	case Dark:
	}
	return tokens{accent: "110", dim: "245", good: "108", bad: "174", warn: "179", code: "146"}
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

// Ink is how a piece of Markdown is written. The zero value is the terminal's own.
type Ink struct {
	Color                            string // of the 256-colour palette; empty: that around it
	Bold, Italic, Underlined, Struck bool
}

// Markdown is the theme's inks.
type Markdown struct {
	Title, Heading, Quote, Emphasis, Strong, Struck, Rule, Address, Link, Picture, Code Ink

	CodeMark string  // around code in a sentence, where no colour shows it
	Syntax   *Syntax // nil: code has no colours
}

// Syntax is the inks of code.
type Syntax struct {
	Plain, Comment, Keyword, Type, Function, String, Number, Operator, Inserted, Deleted, Heading Ink
}

func syntaxOf(k Kind) *Syntax {
	switch k {
	case Light:
		return &Syntax{
			Comment: Ink{Color: "243", Italic: true}, Keyword: Ink{Color: "16", Bold: true}, Type: Ink{Color: "24"},
			Function: Ink{Color: "88"}, String: Ink{Color: "161"}, Number: Ink{Color: "30"}, Inserted: Ink{Color: "28"},
			Deleted: Ink{Color: "160"}, Heading: Ink{Color: "61", Bold: true},
		}
	case Dark:
		return &Syntax{
			Plain: Ink{Color: "253"}, Comment: Ink{Color: "103", Italic: true}, Keyword: Ink{Color: "109", Bold: true},
			Type: Ink{Color: "109"}, Function: Ink{Color: "110"}, String: Ink{Color: "144"}, Number: Ink{Color: "139"},
			Operator: Ink{Color: "255"}, Inserted: Ink{Color: "144"}, Deleted: Ink{Color: "174"}, Heading: Ink{Color: "110", Bold: true},
		}
	case None:
	}
	return nil
}

// Markdown returns the theme's inks.
func (t Theme) Markdown() Markdown {
	heading := Ink{Color: t.tokens.accent, Bold: true}
	title := heading
	title.Underlined = true
	dim := Ink{Color: t.tokens.dim}
	address := Ink{Color: t.tokens.dim, Underlined: true}
	m := Markdown{
		Title: title, Heading: heading, Quote: dim, Emphasis: Ink{Italic: true}, Strong: Ink{Bold: true}, Struck: Ink{Struck: true},
		Rule: dim, Address: address, Link: Ink{Color: t.tokens.accent}, Picture: dim, Code: Ink{Color: t.tokens.code},
		Syntax: syntaxOf(t.Kind),
	}
	if t.Kind == None {
		m.CodeMark = "`"
	}
	return m
}
