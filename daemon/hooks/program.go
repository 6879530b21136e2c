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
	maxOutput  = 64 << 10
	maxReason  = 2000   // characters
	maxContext = 10_000 // characters
	maxName    = 80     // characters of the command that name it
	denies     = 2      // the exit code that does, with standard error as the reason
)

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
	Event     core.HookEvent `json:"hook_event_name"`
	Name      string         `json:"tool_name,omitempty"`
	Arguments any            `json:"tool_input,omitempty"` // of a tool: an object
	Call      string         `json:"tool_use_id,omitempty"`
	Return    *string        `json:"tool_response,omitempty"`
	Failed    bool           `json:"tool_failed,omitempty"`
	Why       string         `json:"reason,omitempty"` // why a person is asked
	Prompt    string         `json:"prompt,omitempty"`
	Source    string         `json:"source,omitempty"`
	Trigger   string         `json:"trigger,omitempty"`
	Again     *bool          `json:"stop_hook_active,omitempty"`
	Said      string         `json:"last_assistant_message,omitempty"`
}

// output is what a program says, if it says anything.
type output struct {
	Continue   *bool  `json:"continue"`
	StopReason string `json:"stopReason"`
	Message    string `json:"systemMessage"`
	Decision   string `json:"decision"` // block
	Reason     string `json:"reason"`
	Specific   struct {
		Decision string         `json:"permissionDecision"` // allow, ask, deny
		Reason   string         `json:"permissionDecisionReason"`
		Input    core.Arguments `json:"updatedInput"`
		Context  string         `json:"additionalContext"`
		Request  struct {
			Behavior string `json:"behavior"` // allow, deny
			Message  string `json:"message"`
		} `json:"decision"`
	} `json:"hookSpecificOutput"`
}

// denial is what a program says by its exit code.
type denial struct{ reason string }

func (d denial) Error() string { return d.reason }

// ended is what became of a program.
type ended struct {
	code           int
	stdout, stderr []byte
	fault          string // why it has no exit code; empty: it has
}

// run runs one program.
func (h *Hooks) run(ctx context.Context, p *program, call *core.HookCall) (out output, err error) {
	told, err := json.Marshal(inputOf(call))
	if err != nil {
		return out, err
	}
	var end ended
	if p.caged {
		end = h.caged(ctx, p, call, told)
	} else {
		end = h.own(ctx, p, call, told)
	}
	fault := func(why string) error { return fmt.Errorf("the hook %s %s", p.short(), why) }
	switch {
	case end.fault != "":
		return out, fault(end.fault)
	case end.code == denies:
		return out, denial{reasonOf(string(end.stderr))}
	case end.code != 0:
		return out, fault(fmt.Sprintf("failed: exit status %d: %s", end.code, reasonOf(string(end.stderr))))
	}
	text := bytes.TrimSpace(end.stdout)
	if len(text) == 0 || text[0] != '{' {
		if call.Event == core.HookPrompt || call.Event == core.HookSession {
			out.Specific.Context = string(text)
		}
		return out, nil // else it only says something to whoever tries it
	}
	if err := json.Unmarshal(text, &out); err != nil {
		return output{}, fault("says what is no answer: " + clip(err.Error(), maxReason))
	}
	return out, nil
}

// own runs a program of the person's: as the person, and not confined.
func (h *Hooks) own(ctx context.Context, p *program, call *core.HookCall, told []byte) (end ended) {
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
	sweep := inGroup(cmd)
	err := runWithUs(cmd)
	sweep()
	end.stdout, end.stderr = stdout.Bytes(), stderr.Bytes()
	var exit *exec.ExitError
	switch {
	case ctx.Err() != nil:
		end.fault = fmt.Sprintf("was stopped after %s", p.limit())
	case errors.As(err, &exit) && exit.Exited():
		end.code = exit.ExitCode()
	case err != nil:
		end.fault = "failed: " + reasonOf(err.Error()+": "+stderr.String())
	}
	return end
}

// caged runs a program that a folder brings.
func (h *Hooks) caged(ctx context.Context, p *program, call *core.HookCall, told []byte) (end ended) {
	if h.cfg.Cage == nil {
		return ended{fault: "can't run: there is no sandbox here"}
	}
	r, err := h.cfg.Cage(ctx, Caged{
		Folder: call.Workspace, Mode: call.Mode, Command: p.Command, Stdin: told, Limit: p.limit(),
	})
	end = ended{code: r.ExitCode, stdout: r.Stdout.Kept, stderr: r.Stderr.Kept}
	switch {
	case err != nil:
		end.fault = "can't run: " + reasonOf(err.Error())
	case r.Ended == core.JobTimedOut:
		end.fault = fmt.Sprintf("was stopped after %s", p.limit())
	case r.Ended != core.JobExited:
		end.fault = "failed: " + string(r.Ended)
	}
	end.stdout, end.stderr = end.stdout[:min(len(end.stdout), maxOutput)], end.stderr[:min(len(end.stderr), maxOutput)]
	return end
}

// inputOf makes what a program reads: in the words of Claude Code where it has a tool like that.
func inputOf(call *core.HookCall) input {
	in := input{
		Session: string(call.Conversation), Agent: string(call.Agent), Run: string(call.Run),
		Folder: call.Workspace, Mode: string(call.Mode), Event: call.Event, Name: call.Tool, Call: call.CallID, Return: call.Return,
		Failed: call.Failed, Why: call.Why, Prompt: call.Prompt, Source: call.Source, Trigger: call.Trigger, Said: call.Said,
	}
	if call.Event == core.HookStop {
		in.Again = &call.Again
	}
	if call.Tool == "" {
		return in
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
func fromAlias(call *core.HookCall, args map[string]any) string {
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
		if text = clip(strings.TrimSpace(text), maxReason); text != "" {
			return text
		}
	}
	return "it gave no reason"
}

func clip(text string, most int) string {
	text = strings.ToValidUTF8(text, "\ufffd")
	if r := []rune(text); len(r) > most {
		return string(r[:most]) + "…"
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
