package pysource

import (
	"math/big"
	"strconv"
	"strings"
)

type shape uint8

const (
	opaque    shape = iota // anything else
	named                  // a name, perhaps with dots
	constant               // None, a bool, a number or a string
	ellipsis               // ...
	subscript              // base[args]
	called                 // base(args, keys)
	union                  // args, joined by |
	sequence               // (args) or [args]
)

// expr is what may stand in an annotation, or be told from a default.
type expr struct {
	shape shape
	name  string
	value any // nil, bool, string, float64 or *big.Int, of a constant
	base  *expr
	args  []*expr
	keys  map[string]*expr
	line  int
	text  string // as it is written, more or less
}

func (e *expr) str() (string, bool) {
	if e == nil || e.shape != constant {
		return "", false
	}
	s, ok := e.value.(string)
	return s, ok
}

func (e *expr) none() bool { return e != nil && e.shape == constant && e.value == nil }

// parser goes through tokens.
type parser struct {
	tokens []token
	pos    int
	depth  int
}

func (p *parser) peek() token {
	if p.pos >= len(p.tokens) {
		return token{kind: end}
	}
	return p.tokens[p.pos]
}

func (p *parser) take() token {
	t := p.peek()
	p.pos++
	return t
}

// expression reads tokens as one expression. What it doesn't understand is opaque.
func expression(tokens []token, depth int) *expr {
	if len(tokens) == 0 {
		return nil
	}
	p := &parser{tokens: tokens, depth: depth}
	e := p.union()
	if p.pos < len(tokens) {
		e.shape = opaque
	}
	e.text = join(tokens)
	return e
}

// join writes tokens for a message.
func join(tokens []token) string {
	var b strings.Builder
	for i, t := range tokens {
		if b.Len() > 200 {
			break
		}
		if i > 0 && (t.text == "|" || tokens[i-1].text == "|" || tokens[i-1].text == "," || t.kind == name && tokens[i-1].kind == name) {
			b.WriteByte(' ')
		}
		b.WriteString(t.text)
	}
	return clip(strings.ReplaceAll(b.String(), "\n", " "))
}

func (p *parser) union() *expr {
	first := p.unary()
	if !p.peek().is("|") {
		return first
	}
	e := &expr{shape: union, args: []*expr{first}, line: first.line}
	for p.peek().is("|") {
		p.take()
		e.args = append(e.args, p.unary())
	}
	return e
}

func (p *parser) unary() *expr {
	sign := p.peek()
	if !sign.is("-") && !sign.is("+") {
		return p.trailed(p.atom())
	}
	p.take()
	e := p.trailed(p.atom())
	if sign.text == "+" {
		return e
	}
	switch v := e.value.(type) {
	case *big.Int:
		e.value = new(big.Int).Neg(v)
	case float64:
		e.value = -v
	default:
		e.shape = opaque
	}
	return e
}

func (p *parser) atom() *expr {
	start := p.pos
	t := p.take()
	e := &expr{line: t.line}
	switch {
	case t.kind == name:
		p.word(e, t.text)
	case t.kind == number:
		e.shape, e.value = constant, numeral(t.text)
		if e.value == nil {
			e.shape = opaque
		}
	case t.kind == text:
		var b strings.Builder
		e.shape = constant
		for {
			s, ok := unquote(t.text)
			if b.WriteString(s); !ok {
				e.shape = opaque
			}
			if p.peek().kind != text {
				break
			}
			t = p.take()
		}
		e.value = b.String()
	case t.is("..."):
		e.shape = ellipsis
	case t.is("("), t.is("["):
		e.shape = sequence
		var comma bool
		e.args, e.keys, comma = p.list(closing(t.text[0]))
		if t.text == "(" && len(e.args) == 1 && !comma && len(e.keys) == 0 {
			e = e.args[0]
		}
	}
	e.text = join(p.tokens[start:min(p.pos, len(p.tokens))])
	return e
}

// word reads a name, or what has one.
func (p *parser) word(e *expr, word string) {
	switch word {
	case "None":
		e.shape = constant
		return
	case "True", "False":
		e.shape, e.value = constant, word == "True"
		return
	case "lambda", "not", "await", "yield":
		return
	}
	parts := []string{word}
	for p.peek().is(".") && p.pos+1 < len(p.tokens) && p.tokens[p.pos+1].kind == name {
		p.take()
		parts = append(parts, p.take().text)
	}
	e.shape, e.name = named, strings.Join(parts, ".")
}

// trailed reads what stands behind: brackets of types and of calls.
func (p *parser) trailed(e *expr) *expr {
	for {
		t := p.peek()
		shape := subscript
		switch {
		case t.is("("):
			shape = called
		case !t.is("["):
			return e
		}
		p.take()
		out := &expr{shape: shape, base: e, line: e.line}
		out.args, out.keys, _ = p.list(closing(t.text[0]))
		out.text = clip(e.text + t.text + "…" + string(rune(closing(t.text[0]))))
		e = out
	}
}

// list reads what stands between commas up to a bracket, and that.
func (p *parser) list(close byte) (args []*expr, keys map[string]*expr, comma bool) {
	if p.depth++; p.depth > maxBrackets {
		p.pos = len(p.tokens) + 1 // it is opaque as a whole
		return nil, nil, false
	}
	defer func() { p.depth-- }()
	for p.pos < len(p.tokens) {
		if p.peek().is(string(rune(close))) {
			p.take()
			return args, keys, comma
		}
		part := p.part()
		if len(part) > 2 && part[0].kind == name && part[1].is("=") {
			if keys == nil {
				keys = map[string]*expr{}
			}
			keys[part[0].text] = expression(part[2:], p.depth)
		} else if e := expression(part, p.depth); e != nil {
			args = append(args, e)
		}
		if p.peek().is(",") {
			comma = true
			p.take()
		} else if !p.peek().is(string(rune(close))) {
			p.take() // whatever else ended it
		}
	}
	return args, keys, comma
}

// part takes the tokens up to a comma or a closing bracket.
func (p *parser) part(stops ...string) []token {
	start, open, lambdas := p.pos, 0, 0
	for p.pos < len(p.tokens) {
		t := p.tokens[p.pos]
		if t.kind == name && t.text == "lambda" && open == 0 {
			lambdas++
		}
		if t.kind == op && open == 0 {
			stop := t.text == "," && lambdas == 0
			for _, s := range stops {
				stop = stop || t.text == s && lambdas == 0
			}
			if stop {
				break
			}
		}
		if t.kind == op {
			switch t.text {
			case "(", "[", "{":
				open++
			case ")", "]", "}":
				if open == 0 {
					return p.tokens[start:p.pos]
				}
				open--
			case ":":
				if open == 0 && lambdas > 0 {
					lambdas--
				}
			}
		}
		p.pos++
	}
	return p.tokens[start:p.pos]
}

// numeral reads a number; nil: it is an imaginary one, or none.
func numeral(word string) any {
	word = strings.ToLower(word)
	if len(word) > 400 {
		return nil
	}
	if n, ok := new(big.Int).SetString(word, 0); ok && (word[0] != '0' || len(word) == 1 || strings.Trim(word, "0_") == "" ||
		strings.ContainsAny(word[:2], "xob")) {
		return n
	}
	if strings.ContainsAny(word, "xp") {
		return nil
	}
	f, err := strconv.ParseFloat(strings.ReplaceAll(word, "_", ""), 64)
	if err != nil {
		return nil
	}
	return f
}
