package arguments

import (
	"encoding/json"
	"maps"
	"math/big"
	"regexp"
	"slices"
	"strings"

	"loci/core"
)

// node is one schema within a schema, ready to be judged by. What a keyword doesn't say is its zero value.
type node struct {
	never bool // nothing fits
	ref   *node

	types  []string
	values map[string]bool // canonical texts of enum; nil: any value
	enum   []any
	always *string // canonical text of const
	one    any

	minimum, maximum, above, below, multiple *big.Rat

	minLength, maxLength *int
	pattern              *regexp.Regexp

	first                  []*node // of a list, each at its place
	items                  *node   // of the rest of it
	contains               *node
	minContains            *int
	maxContains            *int
	minItems, maxItems     *int
	unique                 bool
	unevaluatedItems       *node
	properties             map[string]*node
	patterns               []patternNode
	additional             *node
	names                  *node
	required               []string
	dependentRequired      map[string][]string
	dependentSchemas       map[string]*node
	minMembers, maxMembers *int
	unevaluatedMembers     *node

	allOf, anyOf, oneOf             []*node
	not, condition, then, otherwise *node
}

// patternNode judges the members whose names match.
type patternNode struct {
	pattern *regexp.Regexp
	node    *node
}

// compiler makes nodes of a schema. What something refers to is made once.
type compiler struct {
	root     any
	old      bool // draft 7 or older: beside a reference nothing counts
	known    map[string]*node
	patterns int // characters of patterns so far
}

// oldDraft reports whether an edition of JSON Schema is draft 7 or older, and whether it is understood.
func oldDraft(name string) (old, known bool) {
	_, name, _ = strings.Cut(strings.TrimSuffix(name, "#"), "://")
	switch name {
	case "json-schema.org/draft-06/schema", "json-schema.org/draft-07/schema":
		return true, true
	case "json-schema.org/draft/2019-09/schema", "json-schema.org/draft/2020-12/schema":
		return false, true
	}
	return false, false
}

// newNode returns the node of a whole schema, and whether what was judged already has to be remembered.
func newNode(schema any) (n *node, tracks bool, err error) {
	c := &compiler{root: schema, known: map[string]*node{}}
	if object, ok := schema.(map[string]any); ok && object["$schema"] != nil {
		name, _ := object["$schema"].(string)
		old, known := oldDraft(name)
		if !known {
			const told = "the schema is written in %q; drafts 6, 7, 2019-09 and 2020-12 are understood"
			return nil, false, core.E(core.Unsupported, told, clipped(name))
		}
		c.old = old
	}
	n, err = c.at("#")
	if err != nil {
		return nil, false, err
	}
	all, done := map[*node]bool{}, map[*node]bool{}
	collect(n, all)
	for each := range all {
		if loops(each, nil, done) {
			return nil, false, core.E(core.Invalid, "the schema is not valid: it refers to itself without end")
		}
		tracks = tracks || each.unevaluatedItems != nil || each.unevaluatedMembers != nil
	}
	return n, tracks, nil
}

// beside returns the nodes that judge the same value as n.
func (n *node) beside() []*node {
	next := slices.Concat([]*node{n.ref, n.not, n.condition, n.then, n.otherwise}, n.allOf, n.anyOf, n.oneOf)
	return present(slices.AppendSeq(next, maps.Values(n.dependentSchemas)))
}

// inside returns the nodes that judge parts of the value.
func (n *node) inside() []*node {
	next := append([]*node{n.items, n.contains, n.unevaluatedItems, n.additional, n.names, n.unevaluatedMembers}, n.first...)
	for _, p := range n.patterns {
		next = append(next, p.node)
	}
	return present(slices.AppendSeq(next, maps.Values(n.properties)))
}

func present(nodes []*node) []*node {
	return slices.DeleteFunc(nodes, func(n *node) bool { return n == nil })
}

// collect adds a node to all, with those that it leads to.
func collect(n *node, all map[*node]bool) {
	if all[n] {
		return
	}
	all[n] = true
	for _, next := range slices.Concat(n.beside(), n.inside()) {
		collect(next, all)
	}
}

// loops reports whether judging one value by a node would come back to the node with the same value. The nodes of which it
// is known to be false are done.
func loops(n *node, within []*node, done map[*node]bool) bool {
	if done[n] {
		return false
	}
	if slices.Contains(within, n) {
		return true
	}
	within = append(within, n)
	found := slices.ContainsFunc(n.beside(), func(next *node) bool { return loops(next, within, done) })
	done[n] = true
	return found
}

// at returns the node that a pointer points at.
func (c *compiler) at(pointer string) (*node, error) {
	if n, ok := c.known[pointer]; ok {
		return n, nil
	}
	raw, ok := (&cost{root: c.root}).at(pointer)
	if !ok {
		return nil, core.E(core.Invalid, "the schema refers to %q, which it does not have", clipped(pointer))
	}
	n := &node{}
	c.known[pointer] = n // before it is filled: it may refer to itself
	return n, c.fill(n, raw)
}

func (c *compiler) node(raw any) (*node, error) {
	n := &node{}
	return n, c.fill(n, raw)
}

func (c *compiler) fill(n *node, raw any) error {
	switch v := raw.(type) {
	case bool:
		n.never = !v
		return nil
	case map[string]any:
		r := &reader{compiler: c, raw: v}
		if pointer := r.text("$ref"); pointer != "" && r.err == nil {
			n.ref, r.err = c.at(pointer)
			if c.old {
				return r.err
			}
		}
		r.values(n)
		r.lists(n)
		r.members(n)
		r.forms(n)
		return r.err
	}
	return core.E(core.Invalid, "the schema is not valid: a schema is an object or a boolean, not %s", typeOf(raw))
}

// reader reads the keywords of one schema. It keeps the first fault.
type reader struct {
	*compiler
	raw map[string]any
	err error
}

func (r *reader) values(n *node) {
	n.types = r.types()
	if list, ok := r.raw["enum"]; ok {
		n.enum, ok = list.([]any)
		r.expect(ok, "enum", "a list")
		n.values = map[string]bool{}
		for _, value := range n.enum {
			n.values[canonical(value)] = true
		}
	}
	if value, ok := r.raw["const"]; ok {
		text := canonical(value)
		n.one, n.always = value, &text
	}
	n.minimum, n.maximum = r.number("minimum"), r.number("maximum")
	n.above, n.below = r.number("exclusiveMinimum"), r.number("exclusiveMaximum")
	n.multiple = r.number("multipleOf")
	r.expect(n.multiple == nil || n.multiple.Sign() > 0, "multipleOf", "more than 0")
	n.minLength, n.maxLength = r.size("minLength"), r.size("maxLength")
	if _, ok := r.raw["pattern"]; ok {
		n.pattern = r.expression(r.text("pattern"))
	}
}

func (r *reader) lists(n *node) {
	n.first = r.list("prefixItems")
	rest := "items"
	if _, ok := r.raw["items"].([]any); ok { // as drafts before 2020-12 write it
		n.first, rest = r.list("items"), "additionalItems"
	}
	n.items = r.one(rest)
	n.contains = r.one("contains")
	n.minContains, n.maxContains = r.size("minContains"), r.size("maxContains")
	n.minItems, n.maxItems = r.size("minItems"), r.size("maxItems")
	n.unique = r.flag("uniqueItems")
	n.unevaluatedItems = r.one("unevaluatedItems")
}

func (r *reader) members(n *node) {
	n.properties = r.named("properties")
	patterns := r.named("patternProperties")
	for _, name := range slices.Sorted(maps.Keys(patterns)) {
		n.patterns = append(n.patterns, patternNode{r.expression(name), patterns[name]})
	}
	n.additional, n.names = r.one("additionalProperties"), r.one("propertyNames")
	n.required = r.texts("required", r.raw["required"])
	n.minMembers, n.maxMembers = r.size("minProperties"), r.size("maxProperties")
	n.unevaluatedMembers = r.one("unevaluatedProperties")
	n.dependentSchemas = r.named("dependentSchemas")
	n.dependentRequired = map[string][]string{}
	r.dependencies(n, "dependentRequired")
	r.dependencies(n, "dependencies") // as drafts before 2019-09 write both
}

// dependencies reads what members must, or what must fit, where another member is given.
func (r *reader) dependencies(n *node, keyword string) {
	all, ok := r.raw[keyword].(map[string]any)
	r.expect(ok || r.raw[keyword] == nil, keyword, "an object")
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if list, ok := all[name].([]any); ok {
			n.dependentRequired[name] = append(n.dependentRequired[name], r.texts(keyword, list)...)
			continue
		}
		if n.dependentSchemas == nil {
			n.dependentSchemas = map[string]*node{}
		}
		n.dependentSchemas[name] = r.child(all[name])
	}
}

func (r *reader) forms(n *node) {
	n.allOf, n.anyOf, n.oneOf = r.list("allOf"), r.list("anyOf"), r.list("oneOf")
	n.not, n.condition = r.one("not"), r.one("if")
	n.then, n.otherwise = r.one("then"), r.one("else")
}

func (r *reader) expect(ok bool, keyword, what string) {
	if !ok && r.err == nil {
		r.err = core.E(core.Invalid, "the schema is not valid: %s must be %s", keyword, what)
	}
}

func (r *reader) types() []string {
	var types []string
	switch v := r.raw["type"].(type) {
	case nil:
		return nil
	case string:
		types = []string{v}
	default:
		types = r.texts("type", v)
		r.expect(len(types) > 0, "type", "at least one type")
	}
	for _, t := range types {
		r.expect(kindWord(t) != "", "type", "one of array, boolean, integer, null, number, object and string")
	}
	return types
}

func (r *reader) number(keyword string) *big.Rat {
	raw, ok := r.raw[keyword]
	if !ok {
		return nil
	}
	text, _ := raw.(json.Number)
	number, ok := rational(text)
	r.expect(ok, keyword, "a number")
	return number
}

func (r *reader) size(keyword string) *int {
	number := r.number(keyword)
	if number == nil {
		return nil
	}
	ok := number.IsInt() && number.Sign() >= 0 && number.Num().IsInt64()
	r.expect(ok, keyword, "a whole number, at least 0")
	if !ok {
		return nil
	}
	size := int(number.Num().Int64())
	return &size
}

func (r *reader) flag(keyword string) bool {
	flag, ok := r.raw[keyword].(bool)
	r.expect(ok || r.raw[keyword] == nil, keyword, "true or false")
	return flag
}

func (r *reader) text(keyword string) string {
	text, ok := r.raw[keyword].(string)
	r.expect(ok || r.raw[keyword] == nil, keyword, "a text")
	return text
}

func (r *reader) texts(keyword string, raw any) []string {
	list, ok := raw.([]any)
	r.expect(ok || raw == nil, keyword, "a list of texts")
	var texts []string
	for _, element := range list {
		text, ok := element.(string)
		r.expect(ok, keyword, "a list of texts")
		texts = append(texts, text)
	}
	return texts
}

func (r *reader) expression(text string) *regexp.Regexp {
	if r.patterns += len(text); r.patterns > maxPatterns {
		r.expect(false, "all patterns together", "shorter")
		return nil
	}
	expression, err := regexp.Compile(text)
	if err != nil && r.err == nil {
		r.err = core.E(core.Invalid, "the schema is not valid: its pattern %q can't be read: %w", clipped(text), err)
	}
	return expression
}

func (r *reader) child(raw any) *node {
	n, err := r.node(raw)
	if err != nil && r.err == nil {
		r.err = err
	}
	return n
}

func (r *reader) one(keyword string) *node {
	raw, ok := r.raw[keyword]
	if !ok {
		return nil
	}
	return r.child(raw)
}

func (r *reader) list(keyword string) []*node {
	raw, ok := r.raw[keyword].([]any)
	r.expect(ok || r.raw[keyword] == nil, keyword, "a list of schemas")
	nodes := make([]*node, 0, len(raw))
	for _, element := range raw {
		nodes = append(nodes, r.child(element))
	}
	return nodes
}

func (r *reader) named(keyword string) map[string]*node {
	raw, ok := r.raw[keyword].(map[string]any)
	r.expect(ok || r.raw[keyword] == nil, keyword, "an object of schemas")
	nodes := make(map[string]*node, len(raw))
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		nodes[name] = r.child(raw[name])
	}
	return nodes
}
