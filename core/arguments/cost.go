package arguments

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"loci/core"
)

// The bounds of a schema. What refers to itself is judged once more on every level of the arguments, and once for every
// such reference, so both are few.
const (
	maxSchema      = 256 << 10
	maxPatterns    = 8 << 10 // characters of all patterns: what they compile to is far longer
	maxCost        = 20_000
	maxCyclicCost  = 500
	maxCycles      = 2
	maxCyclicDepth = 12
)

// cost counts the schemas that judging may visit.
type cost struct {
	root   any
	visits int
	cycles int
	within []string // the references being followed
}

// affordable returns whether a schema refers to itself, and an error if judging by it may take too long. References
// that refer to references multiply; those that aren't plain pointers into the schema are refused.
func affordable(schema any) (cyclic bool, err error) {
	c := &cost{root: schema, within: []string{"#"}}
	if err := c.visit(schema); err != nil {
		return false, err
	}
	if c.cycles > maxCycles || c.cycles > 0 && c.visits > maxCyclicCost {
		return true, core.E(core.TooLarge, "the schema refers to itself too often to be judged by")
	}
	return c.cycles > 0, nil
}

func (c *cost) visit(node any) error {
	if c.visits++; c.visits > maxCost {
		return core.E(core.TooLarge, "the schema is too large to be judged by")
	}
	switch n := node.(type) {
	case []any:
		for _, element := range n {
			if err := c.visit(element); err != nil {
				return err
			}
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(n)) {
			if name == "$defs" || name == "definitions" {
				continue // they count where something refers to them
			}
			if text, ok := n[name].(string); ok && strings.HasPrefix(name, "$") {
				if err := c.follow(name, text); err != nil {
					return err
				}
				continue
			}
			if err := c.visit(n[name]); err != nil {
				return err
			}
		}
	}
	return nil
}

// follow visits what a reference points at.
func (c *cost) follow(keyword, text string) error {
	switch keyword {
	case "$schema", "$comment":
		return nil
	case "$ref":
	default:
		return core.E(core.Unsupported, "the schema uses %s, which is not judged", keyword)
	}
	if slices.Contains(c.within, text) {
		c.cycles++
		return nil
	}
	target, ok := c.at(text)
	if !ok {
		return core.E(core.Invalid, "the schema refers to %q, which it does not have", text)
	}
	c.within = append(c.within, text)
	defer func() { c.within = c.within[:len(c.within)-1] }()
	return c.visit(target)
}

// at returns what a pointer points at.
func (c *cost) at(pointer string) (any, bool) {
	rest, ok := strings.CutPrefix(pointer, "#")
	if !ok || strings.Contains(rest, "%") {
		return nil, false
	}
	node := c.root
	for step := range strings.SplitSeq(strings.TrimPrefix(rest, "/"), "/") {
		if step == "" {
			continue
		}
		step = strings.NewReplacer("~1", "/", "~0", "~").Replace(step)
		switch n := node.(type) {
		case map[string]any:
			if node, ok = n[step]; !ok {
				return nil, false
			}
		case []any:
			i, err := strconv.Atoi(step)
			if err != nil || i < 0 || i >= len(n) {
				return nil, false
			}
			node = n[i]
		default:
			return nil, false
		}
	}
	return node, true
}
