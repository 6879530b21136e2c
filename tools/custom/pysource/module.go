package pysource

import "strings"

// module is what a source defines, without what it does.
type module struct {
	imports   map[string]string // the name here: the full one
	aliases   map[string][]token
	classes   map[string]*class
	functions []*function
}

// function is a `def` of the module.
type function struct {
	name   string
	line   int
	async  bool
	params []param
	doc    *string
}

// param is a parameter as it is written.
type param struct {
	name       string
	line       int
	annotation []token
	optional   bool // it has a default
	positional bool // it stands before a slash
	rest       bool // *args or **kwargs
}

// class is one that may be a type.
type class struct {
	name       string // with the classes around it
	line       int
	bases      []*expr
	keys       map[string]*expr // total=False
	decorators []string
	doc        *string
	fields     []field
}

// field is an assignment in a class.
type field struct {
	name       string
	line       int
	annotation []token
	value      []token // nil: it has none
	doc        string  // a string below it
}

// parse reads the structure of a source.
func parse(source []byte) (*module, error) {
	tokens, err := tokenize(source)
	if err != nil {
		return nil, err
	}
	m := &module{imports: map[string]string{}, aliases: map[string][]token{}, classes: map[string]*class{}}
	p := &parser{tokens: tokens}
	for p.peek().kind != end {
		if err := m.statement(p); err != nil {
			return nil, err
		}
	}
	return m, nil
}

// statement reads one of the module.
func (m *module) statement(p *parser) error {
	decorators := p.decorators()
	switch t := p.peek(); {
	case t.is("def"), t.is("async") && p.second().is("def"):
		f, err := p.function()
		if err != nil {
			return err
		}
		m.functions = append(m.functions, f)
	case t.is("class") && p.second().kind == name:
		return m.class(p, "", decorators)
	default:
		m.line(p.logical())
		m.nested(p)
	}
	return nil
}

// nested passes a block of the module over, such as that of an `if`, and takes down what it imports.
func (m *module) nested(p *parser) {
	if p.peek().kind != indent {
		return
	}
	for open := 0; p.peek().kind != end; {
		if depth := p.depthChange(); depth != 0 {
			if open += depth; open == 0 {
				return
			}
			continue
		}
		if line := p.logical(); line[0].is("import") || line[0].is("from") {
			m.line(line)
		}
	}
}

// depthChange takes a token if it begins a block or ends one.
func (p *parser) depthChange() int {
	change := map[kind]int{indent: 1, dedent: -1}[p.peek().kind]
	if change != 0 {
		p.take()
	}
	return change
}

// second is the token behind the next one.
func (p *parser) second() token {
	if p.pos+1 >= len(p.tokens) {
		return token{kind: end}
	}
	return p.tokens[p.pos+1]
}

// logical takes the tokens of a line, with what ends it.
func (p *parser) logical() []token {
	start := p.pos
	for p.peek().kind != end && p.take().kind != newline {
	}
	if p.pos == start {
		p.pos++
	}
	return p.tokens[start:min(p.pos, len(p.tokens))]
}

// block passes over the block that follows, if one does.
func (p *parser) block() {
	if p.peek().kind != indent {
		return
	}
	for open := 0; p.peek().kind != end; {
		if depth := p.depthChange(); depth == 0 {
			p.take()
		} else if open += depth; open == 0 {
			return
		}
	}
}

// decorators takes those that stand before a definition, by their names.
func (p *parser) decorators() (names []string) {
	for p.peek().is("@") {
		line := p.logical()
		if e := expression(line[1:len(line)-1], 0); e != nil {
			for e.base != nil {
				e = e.base
			}
			names = append(names, e.name)
		}
	}
	return names
}

// line takes down what one line of the module imports or calls by another name.
func (m *module) line(tokens []token) {
	for start, i := 0, 0; i < len(tokens); i++ {
		if !tokens[i].is(";") && tokens[i].kind != newline {
			continue
		}
		m.simple(tokens[start:i])
		start = i + 1
	}
}

func (m *module) simple(tokens []token) {
	p := &parser{tokens: tokens}
	switch first := p.peek(); {
	case first.is("import"):
		p.take()
		m.names(p, "")
	case first.is("from"):
		p.take()
		var from strings.Builder
		for p.peek().kind != end && !p.peek().is("import") {
			from.WriteString(p.take().text)
		}
		p.take()
		if p.peek().is("(") {
			p.take()
		}
		m.names(p, from.String()+".")
	case first.is("type") && p.second().kind == name:
		p.take()
		alias := p.take().text
		if p.peek().is("[") {
			p.take()
			p.list(']')
		}
		if p.take().is("=") {
			m.aliases[alias] = p.tokens[min(p.pos, len(tokens)):]
		}
	case first.kind == name && p.second().is("="):
		m.aliases[first.text] = tokens[2:]
	case first.kind == name && p.second().is(":"):
		p.pos = 2
		p.part("=")
		if p.take().is("=") {
			m.aliases[first.text] = tokens[p.pos:]
		}
	}
}

// names takes down imported names.
func (m *module) names(p *parser, from string) {
	for p.peek().kind == name {
		parts := []string{p.take().text}
		for p.peek().is(".") {
			p.take()
			parts = append(parts, p.take().text)
		}
		full := strings.Join(parts, ".")
		here := full
		if p.peek().is("as") {
			p.take()
			here = p.take().text
			m.imports[here] = from + full
		} else if from != "" {
			m.imports[here] = from + full
		} // else the name is the full one already
		if !p.peek().is(",") {
			return
		}
		p.take()
	}
}

// function reads a `def` with its body.
func (p *parser) function() (*function, error) {
	f := &function{line: p.peek().line}
	if p.peek().is("async") {
		f.async = true
		p.take()
	}
	p.take()
	if p.peek().kind != name {
		return nil, at(f.line, "a `def` without a name")
	}
	f.name = p.take().text
	if p.peek().is("[") {
		p.take()
		p.list(']')
	}
	if !p.peek().is("(") {
		return nil, at(f.line, "the function %s has no list of parameters", clip(f.name))
	}
	p.take()
	if err := p.params(f); err != nil {
		return nil, err
	}
	if p.peek().is("->") {
		p.take()
		p.part(":")
	}
	if !p.peek().is(":") {
		return nil, at(p.peek().line, "a colon is missing behind the head of the function %s", clip(f.name))
	}
	p.take()
	f.doc = p.body()
	return f, nil
}

// body passes over what belongs to a definition and returns its docstring.
func (p *parser) body() *string {
	if p.peek().kind != newline {
		line := p.logical()
		return docOf(line)
	}
	p.take()
	if p.peek().kind != indent {
		return nil
	}
	doc := docOf(p.tokens[p.pos+1:])
	p.block()
	return doc
}

// docOf returns the string that tokens begin with, if it is a statement.
func docOf(tokens []token) *string {
	var b strings.Builder
	for i, t := range tokens {
		switch {
		case t.kind == text:
			s, ok := unquote(t.text)
			if !ok {
				return nil
			}
			b.WriteString(s)
			continue
		case i > 0 && (t.kind == newline || t.is(";")):
			doc := cleaned(b.String())
			return &doc
		}
		break
	}
	return nil
}

// params reads the list of parameters up to its bracket.
func (p *parser) params(f *function) error {
	for !p.peek().is(")") {
		t := p.take()
		one := param{name: t.text, line: t.line}
		switch {
		case t.kind == end:
			return at(f.line, "the list of parameters of %s does not end", clip(f.name))
		case t.is("/"):
			for i := range f.params {
				f.params[i].positional = true
			}
			one.name = ""
		case t.is("*"), t.is("**"):
			one.name, one.rest = "", true
			if p.peek().kind == name {
				one.name = p.take().text
			}
		case t.kind != name:
			return at(t.line, "%q stands where the name of a parameter of %s is expected", clip(t.text), clip(f.name))
		}
		if p.peek().is(":") {
			p.take()
			one.annotation = p.part("=")
		}
		if p.peek().is("=") {
			p.take()
			p.part()
			one.optional = true
		}
		if one.name != "" {
			f.params = append(f.params, one)
		}
		if p.peek().is(",") {
			p.take()
		} else if !p.peek().is(")") {
			return at(p.peek().line, "the parameters of %s are not understood from %q on", clip(f.name), clip(p.peek().text))
		}
	}
	p.take()
	return nil
}

// class reads a class with its fields and the classes in it.
func (m *module) class(p *parser, outer string, decorators []string) error {
	c := &class{line: p.take().line, decorators: decorators}
	c.name = outer + p.take().text
	if p.peek().is("[") {
		p.take()
		p.list(']')
	}
	if p.peek().is("(") {
		p.take()
		c.bases, c.keys, _ = p.list(')')
	}
	if !p.take().is(":") {
		return at(c.line, "a colon is missing behind the head of the class %s", clip(c.name))
	}
	m.classes[c.name] = c
	if p.peek().kind != newline {
		p.logical()
		return nil
	}
	p.take()
	if p.peek().kind != indent {
		return nil
	}
	c.doc = docOf(p.tokens[p.pos+1:])
	p.take()
	if strings.Count(c.name, ".") > maxIndents {
		return at(c.line, "classes too deep within each other")
	}
	for p.peek().kind != dedent && p.peek().kind != end {
		if err := m.member(p, c); err != nil {
			return err
		}
	}
	p.take()
	return nil
}

// member reads one statement of a class.
func (m *module) member(p *parser, c *class) error {
	decorators := p.decorators()
	if p.peek().is("class") && p.second().kind == name {
		return m.class(p, c.name+".", decorators)
	}
	line := p.logical()
	if p.peek().kind == indent {
		p.block()
		return nil
	}
	q := &parser{tokens: line[:max(0, len(line)-1)]}
	f := field{name: q.peek().text, line: q.peek().line}
	switch {
	case q.peek().kind == text:
		if doc := docOf(line); doc != nil && len(c.fields) > 0 {
			c.fields[len(c.fields)-1].doc = *doc
		}
		return nil
	case q.peek().kind != name:
		return nil
	case q.second().is(":"):
		q.pos = 2
		f.annotation = q.part("=")
		if q.take().is("=") {
			f.value = q.tokens[q.pos:]
		}
	case q.second().is("="):
		f.value = q.tokens[2:]
	default:
		return nil
	}
	if f.name != "model_config" {
		c.fields = append(c.fields, f)
	}
	return nil
}

// function is how it is called.
func (f *function) function() Function {
	out := Function{Name: f.name, Async: f.async}
	for i, p := range f.params {
		switch {
		case p.rest:
		case p.name == "self" && i == 0:
			out.Self = true
		case p.name == "agent_state":
			out.AgentState = true
		default:
			out.Parameters = append(out.Parameters, Parameter{p.name, p.positional})
		}
	}
	return out
}
