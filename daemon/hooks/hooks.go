package hooks

import (
	"context"
	"errors"
	"strings"
	"time"

	"loci/core"
)

// Config says where the file is and what programs get.
type Config struct {
	Path    string
	Home    string   // where programs run if no folder is open
	Environ []string // for them

	// Folder returns what the hooks file of a folder holds, if a person trusts it as it is; nil: none is trusted.
	Folder func(folder string) []byte
	// Cage runs a program that a folder brings, confined; nil: they fail.
	Cage func(ctx context.Context, p Caged) (core.JobResult, error)
}

// Caged is a program that a folder brings along.
type Caged struct {
	Folder  string
	Mode    core.PermissionMode
	Command string // for a shell
	Stdin   []byte
	Limit   time.Duration
}

// Hooks are the person's programs, and those of folders.
type Hooks struct{ cfg Config }

// New returns the hooks in a file.
func New(cfg Config) *Hooks { return &Hooks{cfg: cfg} }

// Run tells the programs of an event, one after the other, and returns what they say together. The first that denies or ends
// the turn is the last one run; before a call, each sees the arguments that those before it left.
func (h *Hooks) Run(ctx context.Context, call core.HookCall) (v core.HookVerdict) {
	programs, err := h.programs(&call)
	if err != nil {
		v.Faults = append(v.Faults, err.Error())
		if call.Event == core.HookBefore {
			v.Ask = "Hooks can't be known: " + err.Error() + ". Mend that file, or take it away; it is read anew each time."
		}
	}
	var texts []string
	for i := range programs {
		p := &programs[i]
		out, err := h.run(ctx, p, &call)
		if ctx.Err() != nil {
			return core.HookVerdict{}
		}
		if text := p.heard(&call, out, err, &v); text != "" {
			texts = append(texts, text)
		}
		if v.Deny != "" || v.Halt != "" {
			break
		}
	}
	v.Text = strings.Join(texts, "\n")
	return v
}

// heard adds what a program said to the verdict, and returns the text that it has for the agent.
func (p *program) heard(call *core.HookCall, out output, err error, v *core.HookVerdict) (text string) {
	var denied denial
	switch {
	case errors.As(err, &denied):
		return p.denied(call, denied.reason, v)
	case err != nil:
		v.Faults = append(v.Faults, err.Error())
		if call.Event == core.HookBefore {
			v.Ask = "A hook failed, so nobody knows what it would have said: " + err.Error() + "."
			v.Did = append(v.Did, p.name()+" failed")
		}
		return ""
	}
	if out.Message != "" {
		v.Notices = append(v.Notices, clip(out.Message, maxReason))
	}
	if out.Continue != nil && !*out.Continue && call.Event != core.HookCompact {
		v.Halt = reasonOf(out.StopReason, out.Reason)
		v.Did = append(v.Did, p.name()+" ended the turn")
	}
	s := out.Specific
	why := reasonOf(s.Reason, s.Request.Message, out.Reason)
	switch {
	case call.Event == core.HookBefore && s.Decision == "deny", call.Event == core.HookApproval && s.Request.Behavior == "deny",
		out.Decision == "block":
		text = p.denied(call, why, v)
	case call.Event == core.HookBefore && s.Decision == "ask" && v.Ask == "":
		v.Ask = "The hook " + p.short() + " asks: " + why
		v.Did = append(v.Did, p.name()+" asked about it")
	}
	if call.Event == core.HookBefore && s.Input != nil && v.Deny == "" {
		call.Arguments = fromAlias(call, s.Input)
		v.Arguments = call.Arguments
		v.Did = append(v.Did, p.name()+" changed its arguments")
	}
	return strings.TrimSpace(text + "\n" + clip(s.Context, maxContext))
}

// denied is what it means that a program says no.
func (p *program) denied(call *core.HookCall, why string, v *core.HookVerdict) (text string) {
	switch call.Event {
	case core.HookBefore, core.HookApproval:
		v.Deny, v.Did = why, append(v.Did, p.name()+" denied it")
	case core.HookPrompt, core.HookStop:
		v.Deny = why
	case core.HookAfter:
		return why
	case core.HookSession, core.HookCompact: // nothing can be denied: the person is told
		v.Notices = append(v.Notices, "The hook "+p.short()+" says: "+why)
	}
	return ""
}

// short is the program as people are told of it.
func (p *program) short() string { return clip(strings.Join(strings.Fields(p.Command), " "), maxName) }

// name begins a clause about the program.
func (p *program) name() string {
	if p.caged {
		return "the folder's hook " + p.short()
	}
	return "the hook " + p.short()
}
