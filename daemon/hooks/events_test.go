//go:build unix

package hooks

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

func TestEachEventHasItsInputAndItsSay(t *testing.T) {
	t.Parallel()
	adds := `echo '{"hookSpecificOutput":{"additionalContext":"Mind the gap."}}'`
	blocks := `echo '{"decision":"block","reason":"not yet"}'`
	ends := `echo '{"continue":false,"stopReason":"enough"}'`
	for name, tt := range map[string]struct {
		call    core.HookCall
		reads   string // what must be in the input
		command string
		want    core.HookVerdict
	}{
		"a session adds": {
			core.HookCall{Event: core.HookSession, Source: core.HookStartup},
			`"hook_event_name":"SessionStart","source":"startup"`, adds,
			core.HookVerdict{Text: "Mind the gap."},
		},
		"a session adds in plain words": {
			core.HookCall{Event: core.HookSession, Source: core.HookResume},
			`"source":"resume"`, "echo on main",
			core.HookVerdict{Text: "on main"},
		},
		"a session can't be denied": {
			core.HookCall{Event: core.HookSession}, "", "echo oh >&2; exit 2", core.HookVerdict{Notices: []string{"The hook X says: oh"}},
		},
		"a prompt adds": {
			core.HookCall{Event: core.HookPrompt, Prompt: "hello"}, `"prompt":"hello"`, adds, core.HookVerdict{Text: "Mind the gap."},
		},
		"a prompt is blocked": {
			core.HookCall{Event: core.HookPrompt, Prompt: "hello"}, "", blocks, core.HookVerdict{Deny: "not yet"},
		},
		"a prompt is blocked by an exit code": {
			core.HookCall{Event: core.HookPrompt, Prompt: "hello"}, "", "echo no keys >&2; exit 2", core.HookVerdict{Deny: "no keys"},
		},
		"a stop goes on": {
			core.HookCall{Event: core.HookStop, Said: "done"},
			`"stop_hook_active":false,"last_assistant_message":"done"`, blocks,
			core.HookVerdict{Deny: "not yet"},
		},
		"a stop that went on": {core.HookCall{Event: core.HookStop, Again: true}, `"stop_hook_active":true`, "true", core.HookVerdict{}},
		"a summary": {
			core.HookCall{Event: core.HookCompact, Trigger: core.HookAuto},
			`"trigger":"auto"`, blocks,
			core.HookVerdict{Notices: []string{"The hook X says: not yet"}},
		},
		"a question is denied": {
			core.HookCall{Event: core.HookApproval, Tool: "shell", Why: "It runs."},
			`"tool_name":"Bash"`,
			`echo '{"hookSpecificOutput":{"decision":{"behavior":"deny","message":"not now"}}}'`,
			core.HookVerdict{Deny: "not now", Did: []string{"the hook X denied it"}},
		},
		"a question is never allowed": {
			core.HookCall{Event: core.HookApproval, Tool: "shell"},
			`"hook_event_name":"PermissionRequest"`,
			`echo '{"hookSpecificOutput":{"decision":{"behavior":"allow"}}}'`,
			core.HookVerdict{},
		},
		"the turn ends": {
			core.HookCall{Event: core.HookAfter, Tool: "shell"},
			"", ends,
			core.HookVerdict{Halt: "enough", Did: []string{"the hook X ended the turn"}},
		},
		"the person is told": {
			core.HookCall{Event: core.HookStop},
			"", `echo '{"systemMessage":"2 tests fail"}'`,
			core.HookVerdict{Notices: []string{"2 tests fail"}},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			command := "cat > got; " + tt.command
			h, dir := of(t, tt.call.Event, "", command, 0)
			call := tt.call
			call.Workspace = dir
			got := h.Run(t.Context(), call)
			for _, texts := range [][]string{got.Did, got.Notices} {
				for i := range texts {
					texts[i] = strings.Replace(texts[i], shown(command), "X", 1)
				}
			}
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if text, err := os.ReadFile(filepath.Join(dir, "got")); err != nil || !strings.Contains(string(text), tt.reads) {
				t.Errorf("it read %s, %v", text, err)
			}
		})
	}
}

func TestAMatcherIsForWhatTheEventIsAbout(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		call    core.HookCall
		matcher string
		runs    bool
	}{
		"a tool":                {core.HookCall{Event: core.HookApproval, Tool: "shell"}, "Bash", true},
		"another tool":          {core.HookCall{Event: core.HookApproval, Tool: "shell"}, "Edit", false},
		"a new session":         {core.HookCall{Event: core.HookSession, Source: core.HookStartup}, "startup", true},
		"an old session":        {core.HookCall{Event: core.HookSession, Source: core.HookResume}, "startup|clear", false},
		"a summary by itself":   {core.HookCall{Event: core.HookCompact, Trigger: core.HookAuto}, "auto", true},
		"a summary on request":  {core.HookCall{Event: core.HookCompact, Trigger: core.HookManual}, "auto", false},
		"a prompt has no name":  {core.HookCall{Event: core.HookPrompt}, "Bash", true},
		"an end has no name":    {core.HookCall{Event: core.HookStop}, "(", true},
		"a matcher that is bad": {core.HookCall{Event: core.HookBefore, Tool: "shell"}, "(", false},
	} {
		h, dir := of(t, tt.call.Event, tt.matcher, "touch ran", 0)
		call := tt.call
		call.Workspace = dir
		v := h.Run(t.Context(), call)
		if _, err := os.Stat(filepath.Join(dir, "ran")); (err == nil) != tt.runs {
			t.Errorf("%s: it ran: %v, %+v", name, err == nil, v)
		}
	}
}

func TestAnotherEventsProgramThatFailsIsOnlySaid(t *testing.T) {
	t.Parallel()
	for _, event := range events {
		h, dir := of(t, event, "", "exit 3", 0)
		call := core.HookCall{Event: event, Workspace: dir, Tool: "shell", Source: core.HookStartup, Trigger: core.HookAuto}
		v := h.Run(t.Context(), call)
		if len(v.Faults) != 1 || v.Deny != "" || v.Halt != "" || (v.Ask != "") != (event == core.HookBefore) {
			t.Errorf("%s: %+v", event, v)
		}
	}
}

// caged is a sandbox that notes what it is to run.
type caged struct {
	ran    []Caged
	result core.JobResult
	err    error
}

func (c *caged) run(_ context.Context, p Caged) (core.JobResult, error) {
	c.ran = append(c.ran, p)
	return c.result, c.err
}

func TestProgramsOfATrustedFolderRunConfinedBehindThePersons(t *testing.T) {
	t.Parallel()
	h, dir := of(t, core.HookBefore, "", `echo '{"hookSpecificOutput":{"updatedInput":{"command":"ls -l"}}}'`, 0)
	box := &caged{result: core.JobResult{Ended: core.JobExited, ExitCode: 2, Stderr: core.JobOutput{Kept: []byte("not in this project")}}}
	h.cfg.Cage = box.run
	brought := `{"hooks":{"PreToolUse":[{"matcher":"Bash","hooks":[{"type":"command","command":"./check","timeout":7}]}]}}`
	h.cfg.Folder = func(folder string) []byte {
		if folder != dir {
			return nil
		}
		return []byte(brought)
	}
	call := core.HookCall{Event: core.HookBefore, Workspace: dir, Mode: core.ModePlan, Tool: "shell", Arguments: `{"command":"ls"}`}
	v := h.Run(t.Context(), call)
	if v.Deny != "not in this project" || len(v.Did) != 2 || v.Did[1] != "the folder's hook ./check denied it" {
		t.Errorf("%+v", v)
	}
	if len(box.ran) != 1 || box.ran[0].Folder != dir || box.ran[0].Command != "./check" || box.ran[0].Mode != core.ModePlan ||
		box.ran[0].Limit.Seconds() != 7 || !strings.Contains(string(box.ran[0].Stdin), `"tool_input":{"command":"ls -l"}`) {
		t.Errorf("in the cage ran %+v", box.ran)
	}
	call.Workspace = t.TempDir()
	if v := h.Run(t.Context(), call); v.Deny != "" {
		t.Errorf("in a folder that nobody trusts: %+v", v)
	}
	call.Workspace = dir
	for name, faulty := range map[string]*caged{
		"no sandbox": {err: errors.New("the kernel lacks namespaces")}, "too slow": {result: core.JobResult{Ended: core.JobTimedOut}},
		"too much": {result: core.JobResult{Ended: core.JobOverMemory}},
	} {
		h.cfg.Cage = faulty.run
		if v := h.Run(t.Context(), call); len(v.Faults) != 1 || !strings.Contains(v.Ask, "A hook failed") {
			t.Errorf("%s: %+v", name, v)
		}
	}
	brought = `{"hooks":{"Sometimes":[]}}`
	if v := h.Run(t.Context(), call); len(v.Faults) != 1 || !strings.Contains(v.Ask, "the open folder's .loci/hooks.json") {
		t.Errorf("a file that is wrong: %+v", v)
	}
}
