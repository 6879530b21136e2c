package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
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

// events are those that programs can be run at.
var events = []core.HookEvent{
	core.HookSession, core.HookPrompt, core.HookBefore, core.HookAfter, core.HookApproval, core.HookStop, core.HookCompact,
}

// document is the file.
type document struct {
	Hooks map[core.HookEvent][]group `json:"hooks"`
}

// group are the programs for some tools, beginnings of a session or reasons of a summary.
type group struct {
	Matcher string    `json:"matcher"` // a regular expression for whole names; empty: all
	Hooks   []program `json:"hooks"`
}

// program is one program.
type program struct {
	Type    string  `json:"type"`    // command
	Command string  `json:"command"` // for a shell
	Timeout float64 `json:"timeout"` // in seconds; 0: ten

	caged bool // a folder brings it
}

// programs returns those for an event, in the order of the files: the person's own, then those of the open folder.
func (h *Hooks) programs(call *core.HookCall) (found []program, err error) {
	text, err := ownfile.Read(h.cfg.Path, maxFile)
	if err != nil {
		return nil, unreadable(h.cfg.Path, err)
	}
	if found, err = choose(text, h.cfg.Path, call); err != nil || h.cfg.Folder == nil || call.Workspace == "" {
		return found, err
	}
	brought, err := choose(h.cfg.Folder(call.Workspace), "the open folder's "+core.FolderHooks, call)
	for _, p := range brought {
		p.caged = true
		found = append(found, p)
	}
	return found, err
}

// Check says what is wrong with a file of hooks, which name is that of; nil: it can be used as it is.
func Check(text, name string) error {
	doc, err := read([]byte(text), name)
	if err != nil {
		return err
	}
	for event, groups := range doc.Hooks {
		for i := range groups {
			if _, err := groups[i].pattern(event, name); err != nil && groups[i].Matcher != "*" {
				return err
			}
		}
	}
	return nil
}

// choose returns the programs of a file that are for an event.
func choose(text []byte, name string, call *core.HookCall) (found []program, err error) {
	doc, err := read(text, name)
	if err != nil {
		return nil, err
	}
	for _, g := range doc.Hooks[call.Event] {
		if ok, err := g.matches(call, name); err != nil {
			return nil, err
		} else if ok {
			found = append(found, g.Hooks...)
		}
	}
	return found, nil
}

// matches reports whether the programs are for what an event is about: a tool, how a session begins, what a summary is for.
func (g *group) matches(call *core.HookCall, name string) (bool, error) {
	names := []string{call.Tool, aliases[call.Tool]}
	switch call.Event {
	case core.HookSession:
		names = []string{call.Source}
	case core.HookCompact:
		names = []string{call.Trigger}
	case core.HookPrompt, core.HookStop:
		return true, nil // about nothing that has a name
	case core.HookBefore, core.HookAfter, core.HookApproval:
	}
	if g.Matcher == "" || g.Matcher == "*" {
		return true, nil
	}
	re, err := g.pattern(call.Event, name)
	if err != nil {
		return false, err
	}
	return slices.ContainsFunc(names, func(name string) bool { return name != "" && re.MatchString(name) }), nil
}

// pattern is the matcher as a regular expression.
func (g *group) pattern(event core.HookEvent, name string) (*regexp.Regexp, error) {
	re, err := regexp.Compile("^(?:" + g.Matcher + ")$")
	if err != nil {
		return nil, core.E(core.Invalid, "the matcher %q of %s in %s is no regular expression: %s",
			g.Matcher, event, name, strings.TrimPrefix(err.Error(), "error parsing regexp: "))
	}
	return re, nil
}

func (p *program) limit() time.Duration {
	if p.Timeout <= 0 {
		return takes
	}
	return min(time.Duration(p.Timeout*float64(time.Second)), mostTime)
}

func unreadable(name string, err error) error {
	return core.E(core.Invalid, "the hooks in %s can't be read: %w", name, err)
}

// read reads a file; one that isn't there has no programs.
func read(text []byte, name string) (doc document, err error) {
	if text == nil {
		return doc, nil
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&doc); err != nil {
		return document{}, broken(name, text, d, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		return document{}, core.E(core.Invalid, "line %d of %s can't be read: something stands behind the brace that closes the file",
			lineAt(text, d.InputOffset()), name)
	}
	return doc, doc.check(name)
}

// check says what the file asks for that is not done.
func (d *document) check(name string) error {
	count := 0
	for event, groups := range d.Hooks {
		if !slices.Contains(events, event) {
			var known []string
			for _, e := range events {
				known = append(known, string(e))
			}
			return core.E(core.Invalid, "%s names the event %q; known are %s", name, event, strings.Join(known, ", "))
		}
		for _, g := range groups {
			for _, p := range g.Hooks {
				if p.Type != "command" || strings.TrimSpace(p.Command) == "" {
					return core.E(core.Invalid, "a hook of %s in %s is no command: its type must be \"command\", "+
						"and its command what a shell runs", event, name)
				}
				count++
			}
		}
	}
	if count > maxHooks {
		return core.E(core.TooLarge, "%s has %s; at most %d are run", name, core.Count(count, "hook"), maxHooks)
	}
	return nil
}
