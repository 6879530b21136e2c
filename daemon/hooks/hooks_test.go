//go:build unix

package hooks

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

// of returns hooks with one program for an event, and the folder that they run in.
func of(t *testing.T, event core.HookEvent, matcher, command string, timeout float64) (*Hooks, string) {
	t.Helper()
	dir := t.TempDir()
	programs := []program{{Type: "command", Command: command, Timeout: timeout}}
	doc := document{Hooks: map[core.HookEvent][]group{event: {{Matcher: matcher, Hooks: programs}}}}
	text, err := json.Marshal(doc)
	if err != nil {
		t.Fatal(err)
	}
	return file(t, string(text)), dir
}

func file(t *testing.T, text string) *Hooks {
	t.Helper()
	path := filepath.Join(t.TempDir(), "hooks.json")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return New(Config{Path: path, Home: t.TempDir(), Environ: []string{"PATH=" + os.Getenv("PATH")}})
}

// shown is how a program is named.
func shown(command string) string {
	p := program{Command: command}
	return p.short()
}

func denied(why string) core.HookVerdict {
	return core.HookVerdict{Deny: why, Did: []string{"the hook X denied it"}}
}

func changed(arguments string) core.HookVerdict {
	return core.HookVerdict{Arguments: arguments, Did: []string{"the hook X changed its arguments"}}
}

func TestAProgramDecidesBeforeATool(t *testing.T) {
	t.Parallel()
	specific := func(fields string) string { return `echo '{"hookSpecificOutput":{` + fields + `}}'` }
	for name, tt := range map[string]struct {
		matcher, command string
		want             core.HookVerdict
	}{
		"says nothing":          {"", "true", core.HookVerdict{}},
		"says something":        {"", "echo hello", core.HookVerdict{}},
		"allows, which is none": {"", specific(`"permissionDecision":"allow"`), core.HookVerdict{}},
		"another tool":          {"edit|write", "exit 2", core.HookVerdict{}},
		"a part of the name":    {"she", "exit 2", core.HookVerdict{}},
		"by an exit code":       {"shell", "echo no >&2; exit 2", denied("no")},
		"without a reason":      {"Bash", "exit 2", denied("it gave no reason")},
		"as Claude Code has it": {
			"*", specific(`"permissionDecision":"deny","permissionDecisionReason":"not here"`), denied("not here"),
		},
		"as it had it": {"", `echo '{"decision":"block","reason":"never"}'`, denied("never")},
		"asks": {
			"", specific(`"permissionDecision":"ask","permissionDecisionReason":"sure?"`),
			core.HookVerdict{Ask: "The hook X asks: sure?", Did: []string{"the hook X asked about it"}},
		},
		"changes the arguments":  {"", specific(`"updatedInput":{"command":"ls -l"}`), changed(`{"command":"ls -l"}`)},
		"changes them exactly":   {"", specific(`"updatedInput":{"n":9007199254740993}`), changed(`{"n":9007199254740993}`)},
		"reads what it is asked": {"", `grep -q '"tool_name":"Bash","tool_input":{"command":"ls"}' || exit 2`, core.HookVerdict{}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			h, dir := of(t, core.HookBefore, tt.matcher, tt.command, 0)
			got := h.Run(t.Context(), core.HookCall{Event: core.HookBefore, Workspace: dir, Tool: "shell", Arguments: `{"command":"ls"}`})
			for i, did := range got.Did {
				got.Did[i] = strings.Replace(did, shown(tt.command), "X", 1)
			}
			got.Ask = strings.Replace(got.Ask, shown(tt.command), "X", 1)
			if diff := cmp.Diff(tt.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

func TestAProgramGetsTheCallInTheWordsOfClaudeCode(t *testing.T) {
	t.Parallel()
	command := `cat > got; pwd -P > where; echo '{"hookSpecificOutput":{"updatedInput":{"file_path":"b.go"}}}'`
	h, dir := of(t, core.HookBefore, "Edit", command, 0)
	v := h.Run(t.Context(), core.HookCall{
		Event: core.HookBefore, Conversation: "conv", Agent: "agent", Run: "run", Workspace: dir, Mode: core.ModeAsk, CallID: "call",
		Tool: "edit", Arguments: `{"path":"a.go"}`,
	})
	if v.Arguments != `{"path":"b.go"}` || len(v.Faults) > 0 {
		t.Errorf("%+v", v)
	}
	got, err := os.ReadFile(filepath.Join(dir, "got"))
	want := `{"session_id":"conv","agent_id":"agent","run_id":"run","cwd":"` + dir + `","permission_mode":"ask",` +
		`"hook_event_name":"PreToolUse","tool_name":"Edit","tool_input":{"file_path":"` + dir + `/a.go"},"tool_use_id":"call"}`
	if err != nil || string(got) != want {
		t.Errorf("%s\n%s\n%v", got, want, err)
	}
	where, err := os.ReadFile(filepath.Join(dir, "where"))
	if real, rerr := filepath.EvalSymlinks(dir); err != nil || rerr != nil || strings.TrimSpace(string(where)) != real {
		t.Errorf("it ran in %q", where)
	}
}

func TestAProgramThatFailsIsSaidAndAsksAPerson(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ command, want string }{
		"an exit code":      {"echo broken >&2; exit 3", "failed: exit status 3: broken"},
		"no such program":   {"/nowhere/at/all", "failed: exit status 127"},
		"no answer":         {"echo '{\"decision\": 3}'", "says what is no answer"},
		"too slow":          {"sleep 100 & wait", "was stopped after 300ms"},
		"an endless one":    {"while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done", "was stopped after 300ms"},
		"it ends itself":    {"kill -9 $$", "signal: killed"},
		"half of an answer": {"printf '{'", "says what is no answer"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			timeout := 0.0
			if strings.Contains(tt.want, "300ms") {
				timeout = 0.3
			}
			h, dir := of(t, core.HookBefore, "", tt.command, timeout)
			began := time.Now()
			v := h.Run(t.Context(), core.HookCall{Event: core.HookBefore, Workspace: dir, Tool: "shell", Arguments: `{}`})
			if len(v.Faults) != 1 || !strings.Contains(v.Faults[0], tt.want) || !strings.Contains(v.Ask, "A hook failed") || v.Deny != "" {
				t.Errorf("%+v", v)
			}
			if time.Since(began) > time.Minute {
				t.Error("it was waited for")
			}
		})
	}
}

func TestAFileThatCannotBeReadAsksAPerson(t *testing.T) {
	t.Parallel()
	many := strings.TrimSuffix(strings.Repeat(`{"type":"command","command":"true"},`, maxHooks+1), ",")
	for name, text := range map[string]string{
		"no JSON": "{", "an unknown event": `{"hooks":{"Sometimes":[]}}`, "an unknown key": `{"hook":{}}`,
		"too large":     strings.Repeat(" ", maxFile+1),
		"no command":    `{"hooks":{"PreToolUse":[{"hooks":[{"type":"prompt","command":"x"}]}]}}`,
		"no expression": `{"hooks":{"PreToolUse":[{"matcher":"(","hooks":[{"type":"command","command":"true"}]}]}}`,
		"many":          `{"hooks":{"PreToolUse":[{"hooks":[` + many + `]}]}}`,
	} {
		v := file(t, text).Run(t.Context(), core.HookCall{Event: core.HookBefore, Tool: "shell"})
		if len(v.Faults) != 1 || !strings.Contains(v.Ask, "can't be known") {
			t.Errorf("%s: %+v", name, v)
		}
	}
	none := New(Config{Path: filepath.Join(t.TempDir(), "hooks.json")})
	if v := none.Run(t.Context(), core.HookCall{Event: core.HookBefore, Tool: "shell"}); !cmp.Equal(v, core.HookVerdict{}) {
		t.Errorf("without a file: %+v", v)
	}
}

func TestAProgramAddsToWhatAToolReturned(t *testing.T) {
	t.Parallel()
	text := "done"
	call := core.HookCall{Event: core.HookAfter, Tool: "write", Arguments: `{"path":"a"}`, Return: &text}
	for command, want := range map[string]string{
		`grep -q '"tool_response":"done"' && echo '{"hookSpecificOutput":{"additionalContext":"formatted"}}'`: "formatted",
		`echo '{"decision":"block","reason":"lint fails"}'`:                                                   "lint fails",
		"echo 'tests fail' >&2; exit 2":                                                                       "tests fail",
		"true":                                                                                                "",
	} {
		h, dir := of(t, core.HookAfter, "", command, 0)
		call.Workspace = dir
		if v := h.Run(t.Context(), call); v.Text != want || len(v.Faults) > 0 {
			t.Errorf("%s: %+v", command, v)
		}
	}
	h, dir := of(t, core.HookAfter, "", "exit 1", 0)
	call.Workspace = dir
	if v := h.Run(t.Context(), call); v.Text != "" || len(v.Faults) != 1 {
		t.Errorf("a failing one: %+v", v)
	}
}
