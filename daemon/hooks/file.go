package hooks

import (
	"bytes"
	"encoding/json"
	"regexp"
	"slices"
	"strings"
	"time"

	"loci/core"
	"loci/daemon/ownfile"
)

// Bounds of the file and of what it asks for.
const (
	maxFile  = 256 << 10
	maxHooks = 50
	takes    = 10 * time.Second
	mostTime = time.Minute
)

// The events.
const (
	before = "PreToolUse"
	after  = "PostToolUse"
)

// document is the file.
type document struct {
	Hooks map[string][]group `json:"hooks"`
}

// group are the programs for some tools.
type group struct {
	Matcher string    `json:"matcher"` // a regular expression for whole names; empty: all
	Hooks   []program `json:"hooks"`
}

// program is one program.
type program struct {
	Type    string  `json:"type"`    // command
	Command string  `json:"command"` // for a shell
	Timeout float64 `json:"timeout"` // in seconds; 0: ten
}

// programs returns those for an event of a tool, in the order of the file.
func (h *Hooks) programs(event, tool string) ([]program, error) {
	doc, err := load(h.cfg.Path)
	if err != nil {
		return nil, err
	}
	var found []program
	for _, g := range doc.Hooks[event] {
		if ok, err := g.matches(tool); err != nil {
			return nil, err
		} else if ok {
			found = append(found, g.Hooks...)
		}
	}
	return found, nil
}

func (g *group) matches(tool string) (bool, error) {
	if g.Matcher == "" || g.Matcher == "*" {
		return true, nil
	}
	re, err := regexp.Compile("^(?:" + g.Matcher + ")$")
	if err != nil {
		return false, core.E(core.Invalid, "the matcher %q is no regular expression", g.Matcher)
	}
	return slices.ContainsFunc([]string{tool, aliases[tool]}, func(name string) bool { return name != "" && re.MatchString(name) }), nil
}

func (p *program) limit() time.Duration {
	if p.Timeout <= 0 {
		return takes
	}
	return min(time.Duration(p.Timeout*float64(time.Second)), mostTime)
}

// load reads the file; one that isn't there has no programs.
func load(path string) (doc document, err error) {
	fault := func(err error) (document, error) {
		return document{}, core.E(core.Invalid, "your hooks in %s can't be read: %w", path, err)
	}
	text, err := ownfile.Read(path, maxFile)
	if err != nil {
		return fault(err)
	}
	if text == nil {
		return doc, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return fault(err)
	}
	return doc, doc.check(path)
}

// check says what the file asks for that is not done.
func (d *document) check(path string) error {
	count := 0
	for event, groups := range d.Hooks {
		if event != before && event != after {
			return core.E(core.Invalid, "your hooks in %s name the event %q; known are %s and %s", path, event, before, after)
		}
		for _, g := range groups {
			for _, p := range g.Hooks {
				if p.Type != "command" || strings.TrimSpace(p.Command) == "" {
					return core.E(core.Invalid, "a hook in %s is no command", path)
				}
				count++
			}
		}
	}
	if count > maxHooks {
		return core.E(core.TooLarge, "%s has %s; at most %d are run", path, core.Count(count, "hook"), maxHooks)
	}
	return nil
}
