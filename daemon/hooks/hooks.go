package hooks

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"loci/core"
)

// Bounds of what a program says.
const (
	maxOutput = 64 << 10
	maxReason = 2000 // characters
	denies    = 2    // the exit code that does, with standard error as the reason
)

// Config says where the file is and what programs get.
type Config struct {
	Path    string
	Home    string   // where programs run if no folder is open
	Environ []string // for them
}

// Hooks are the person's programs.
type Hooks struct{ cfg Config }

// New returns the hooks in a file.
func New(cfg Config) *Hooks { return &Hooks{cfg: cfg} }

// aliases are how Claude Code calls tools like ours.
var aliases = map[string]string{
	"shell": "Bash", "read": "Read", "write": "Write", "edit": "Edit", "glob": "Glob", "grep": "Grep", "fetch": "WebFetch",
}

// input is what a program reads.
type input struct {
	Session   string         `json:"session_id"`
	Agent     string         `json:"agent_id"`
	Run       string         `json:"run_id"`
	Folder    string         `json:"cwd"`
	Mode      string         `json:"permission_mode"`
	Event     string         `json:"hook_event_name"`
	Name      string         `json:"tool_name"`
	Arguments map[string]any `json:"tool_input"`
	Return    *string        `json:"tool_response,omitempty"`
	Failed    bool           `json:"tool_failed,omitempty"`
}

// output is what a program says, if it says anything.
type output struct {
	Decision string `json:"decision"` // block
	Reason   string `json:"reason"`
	Specific struct {
		Decision string         `json:"permissionDecision"` // allow, ask, deny
		Reason   string         `json:"permissionDecisionReason"`
		Input    map[string]any `json:"updatedInput"`
		Context  string         `json:"additionalContext"`
	} `json:"hookSpecificOutput"`
}

// Before asks the programs about a call that is to run. The first that denies is the last one asked; each sees the arguments
// that those before it left.
func (h *Hooks) Before(ctx context.Context, call core.HookCall) (v core.HookVerdict) {
	programs, err := h.programs(before, call.Tool)
	if err != nil {
		v.Faults, v.Ask = append(v.Faults, err.Error()), "Your hooks can't be known: "+err.Error()+"."
		return v
	}
	for i := range programs {
		p := &programs[i]
		out, err := h.run(ctx, p, before, call)
		var denied denial
		switch {
		case errors.As(err, &denied):
			v.Deny = denied.reason
			return v
		case err != nil:
			v.Faults = append(v.Faults, err.Error())
			v.Ask = "A hook failed, so nobody knows what it would have said: " + err.Error() + "."
			continue
		}
		why := reasonOf(out.Specific.Reason, out.Reason)
		switch {
		case out.Specific.Decision == "deny" || out.Decision == "block":
			v.Deny = why
			return v
		case out.Specific.Decision == "ask" && v.Ask == "":
			v.Ask = "A hook asks: " + why
		}
		if out.Specific.Input != nil {
			call.Arguments = fromAlias(call, out.Specific.Input)
			v.Arguments = call.Arguments
		}
	}
	return v
}

// After tells the programs what a call returned, and returns what they add.
func (h *Hooks) After(ctx context.Context, call core.HookCall) (v core.HookVerdict) {
	programs, err := h.programs(after, call.Tool)
	if err != nil {
		v.Faults = append(v.Faults, err.Error())
		return v
	}
	var texts []string
	for i := range programs {
		out, err := h.run(ctx, &programs[i], after, call)
		var denied denial
		switch {
		case errors.As(err, &denied):
			texts = append(texts, denied.reason)
		case err != nil:
			v.Faults = append(v.Faults, err.Error())
		case out.Decision == "block":
			texts = append(texts, reasonOf(out.Reason))
		}
		if out.Specific.Context != "" {
			texts = append(texts, clip(out.Specific.Context))
		}
	}
	v.Text = strings.Join(texts, "\n")
	return v
}

// denial is what a program says by its exit code.
type denial struct{ reason string }

func (d denial) Error() string { return d.reason }

// run runs one program.
func (h *Hooks) run(ctx context.Context, p *program, event string, call core.HookCall) (out output, err error) {
	told, err := json.Marshal(h.input(event, call))
	if err != nil {
		return out, err
	}
	ctx, cancel := context.WithTimeout(ctx, p.limit())
	defer cancel()
	cmd := exec.CommandContext(ctx, "sh", "-c", p.Command)
	cmd.Stdin, cmd.Env, cmd.Dir, cmd.WaitDelay = bytes.NewReader(told), h.cfg.Environ, call.Workspace, time.Second
	if cmd.Dir == "" {
		cmd.Dir = h.cfg.Home
	}
	cmd.Env = append(cmd.Env[:len(cmd.Env):len(cmd.Env)], "CLAUDE_PROJECT_DIR="+call.Workspace, "LOCI_PROJECT_DIR="+call.Workspace)
	var stdout, stderr bounded
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	end := inGroup(cmd)
	err = cmd.Run()
	end()
	fault := func(why string) error { return fmt.Errorf("the hook %s %s", clip(p.Command), why) }
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		return out, fault(fmt.Sprintf("was stopped after %s", p.limit()))
	case errors.As(err, &exit) && exit.ExitCode() == denies:
		return out, denial{reasonOf(stderr.String())}
	case err != nil:
		return out, fault("failed: " + reasonOf(err.Error()+": "+stderr.String()))
	}
	text := bytes.TrimSpace(stdout.Bytes())
	if len(text) == 0 || text[0] != '{' {
		return out, nil // it only says something to whoever tries it
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return output{}, fault("says what is no answer: " + err.Error())
	}
	return out, nil
}

// input makes what a program reads: in the words of Claude Code where it has a tool like that.
func (h *Hooks) input(event string, call core.HookCall) input {
	in := input{
		Session: string(call.Conversation), Agent: string(call.Agent), Run: string(call.Run),
		Folder: call.Workspace, Mode: string(call.Mode), Event: event, Name: call.Tool, Return: call.Return, Failed: call.Failed,
	}
	args, err := core.ParseArguments(call.Arguments)
	if err != nil {
		args = map[string]any{}
	}
	if alias := aliases[call.Tool]; alias != "" {
		in.Name = alias
		if path, ok := args["path"].(string); ok && hasFilePath(call.Tool) {
			delete(args, "path")
			if !filepath.IsAbs(path) {
				path = filepath.Join(call.Workspace, path)
			}
			args["file_path"] = path
		}
	}
	in.Arguments = args
	return in
}

// fromAlias writes changed arguments as the tool has them.
func fromAlias(call core.HookCall, args map[string]any) string {
	if path, ok := args["file_path"]; ok && hasFilePath(call.Tool) {
		delete(args, "file_path")
		args["path"] = path
	}
	text, err := json.Marshal(args)
	if err != nil {
		return call.Arguments
	}
	return string(text)
}

// hasFilePath reports whether Claude Code calls the tool's path file_path.
func hasFilePath(tool string) bool { return tool == "read" || tool == "write" || tool == "edit" }

func reasonOf(texts ...string) string {
	for _, text := range texts {
		if text = clip(strings.TrimSpace(text)); text != "" {
			return text
		}
	}
	return "it gave no reason"
}

func clip(text string) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if r := []rune(text); len(r) > maxReason {
		return string(r[:maxReason]) + "…"
	}
	return text
}

// bounded keeps the beginning of what is written.
type bounded struct{ bytes.Buffer }

func (b *bounded) Write(p []byte) (int, error) {
	room := max(maxOutput-b.Len(), 0)
	b.Buffer.Write(p[:min(len(p), room)])
	return len(p), nil
}
