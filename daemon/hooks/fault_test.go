//go:build unix

package hooks

import (
	"strings"
	"testing"

	"loci/core"
)

func TestABrokenFileSaysWhereAndWhatToMend(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"{\n\"hooks\": {\n\"Stop\": [],\n}}":              "line 4 of FILE can't be read: a comma stands before the '}' that",
		"{\"hooks\": {\"Stop\": [\n{\"hooks\": [],\n}]}}": "line 3 of FILE can't be read: a comma stands before the '}'",
		"{\"hooks\": {\"Stop\": [{},\n]}}":                "line 2 of FILE can't be read: a comma stands before the ']'",
		"{\"hooks\": {\n\"Stop\": []":                     "line 2 of FILE can't be read: it ends too early: a quote, a bracket",
		"":                                                "line 1 of FILE can't be read: it ends too early",
		"// mine\n{}":                                     "line 1 of FILE can't be read: JSON has no comments",
		"{'hooks': {}}":                                   "line 1 of FILE can't be read: JSON has its texts in double quotes",
		"{\"hooks\": {\n\"Stop\" []}}":                    "line 2 of FILE can't be read: a comma or a colon is missing before '['",
		"{\"hooks\": {\n\"Stop\": [{\"command\": \"x\"}]}}":              "line 2 of FILE can't be read: \"command\" is not known here",
		"{\"hooks\": {\n\"Stop\": {\"hooks\": []}}}":                     "line 2 of FILE can't be read: a list must stand there in hooks",
		"{\"hooks\": {\"Stop\": [{\"hooks\": [{\"timeout\": \"5\"}]}]}}": "a number must stand there in hooks",
		"[]":          "line 1 of FILE can't be read: an object must stand there, not a list",
		"{}\n{}":      "line 2 of FILE can't be read: something stands behind the brace",
		"{} nonsense": "something stands behind the brace",
		"{\"hooks\": {\"Stop\": [{\"hooks\": [{\"type\": \"prompt\"}]}]}}": "a hook of Stop in FILE is no command",
	} {
		h := file(t, text)
		v := h.Run(t.Context(), core.HookCall{Event: core.HookStop})
		got := strings.ReplaceAll(strings.Join(v.Faults, "|"), h.cfg.Path, "FILE")
		if !strings.Contains(got, want) || strings.Contains(got, "json:") || strings.Contains(got, "looking for") {
			t.Errorf("%s\nis told as %q, want %q", text, got, want)
		}
	}
	h := file(t, `{"hooks": {"PreToolUse": [{"matcher": "(", "hooks": []}]}}`)
	v := h.Run(t.Context(), core.HookCall{Event: core.HookBefore, Tool: "shell"})
	want := `the matcher "(" of PreToolUse in ` + h.cfg.Path + " is no regular expression: missing closing"
	if got := strings.Join(v.Faults, ""); !strings.Contains(got, want) {
		t.Errorf("told as %q", got)
	}
}
