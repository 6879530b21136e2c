package transcript

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"loci/tui/theme"
)

func TestCallsOfTheToolsOfAFolderHaveRowsOfTheirOwn(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 60)
	for _, c := range []struct{ name, arguments, ret, want string }{
		{"read", `{"path":"src/漢字.go"}`, "1\tpackage a\n2\t\n3\tfunc", "▸ reads src/漢字.go · lines 1–3"},
		{"read", `{"path":"a","offset":7}`, "7\tx\n(Line 7 is the last.)", "▸ reads a · line 7"},
		{"read", `{"path":"a"}`, "(The file is empty.)", "▸ reads a · The file is empty"},
		{"read", `{"path":"a\u001b[2J\nb"}`, "1\tx", `▸ reads a\u001b[2J b · line 1`},
		{"list", `{}`, "a\nb/", "▸ lists the folder · 2 entries"},
		{"list", `{"path":"src"}`, "The folder is empty, or .gitignore leaves out all that is in it.", "▸ lists src · nothing found"},
		{
			"glob", `{"pattern":"*.go","path":"src"}`,
			"a.go\n(12 more files: call again with offset 1.)",
			"⌕ looks for “*.go” in src · 13 files",
		},
		{
			"grep", `{"pattern":"tea+"}`,
			"a.go\n3: tea\n4- more\nb.go\n9: teaa\n(5 more: call again with offset 2.)",
			"⌕ searches for “tea+” · 7 found",
		},
		{"grep", `{"pattern":"x","glob":"*.md"}`, "No line matches in 3 files.", "⌕ searches for “x” in *.md · nothing found"},
		{
			"edit", `{"path":"a.go","old_string":"x\ny","new_string":"x\nz\nw"}`, "a.go is changed in 1 place: line 3.",
			"✎ changes a.go +2 −1\n    x\n  - y\n  + z\n  + w",
		},
		{
			"write", `{"path":"n.md","content":"1\n2\n3\n4\n5\n6\n7\n"}`, "n.md is made: 7 lines.",
			"✎ writes n.md +7\n  + 1\n  + 2\n  + 3\n  + 4\n  + 5\n  ⋮ 2 more (ctrl+o)",
		},
		{
			"shell", `{"command":"go test ./...\n echo"}`,
			"Exit code 1. The next line begins in src.\none\ntwo\n\nthree\n\tfour\n(Closed by rules of permission.)",
			"$ go test ./... echo · exit 1\n  │ two\n  │ three\n  │     four",
		},
		{"shell", `{"command":"true"}`, "Exit code 0.", "$ true · exit 0"},
		{
			"shell", `{"command":"curl a.example"}`, "Exit code 0.\n<foreign from=\"a.example\">\nhello\n</foreign>",
			"$ curl a.example · exit 0\n  │ hello",
		},
		{
			"shell", `{"command":"serve"}`, "It runs in the background as job-1. You are told when it ends.",
			"$ serve · in the background as job-1",
		},
		{
			"shell", `{"command":"make"}`, "Exit code 2. It ran uncaged: outside of the sandbox, as the person allowed.\nno",
			"$ make · exit 2, uncaged\n  │ no",
		},
		{
			"shell", `{"command":"make"}`, "Exit code 0. The next line begins in x. It ran uncaged: y.\n. It ran uncaged: outside",
			"$ make · exit 0\n  │ . It ran uncaged: outside",
		},
		{
			"shell", `{"command":"serve"}`, "It runs uncaged in the background as job-1. You are told when it ends.",
			"$ serve · uncaged in the background as …",
		},
		{
			"job", `{"id":"job-1","stop":true}`, "job-1 has ended after 3s. Exit code 0.",
			"▸ looks after job-1, and stops it · job-1 has ended after 3s",
		},
	} {
		got := ansi.Strip(r.Tool(Call{Name: c.name, Arguments: c.arguments, Return: c.ret, Done: true}))
		if diff := cmp.Diff(c.want, got); diff != "" {
			t.Errorf("%s %s (-want +got):\n%s", c.name, c.arguments, diff)
		}
		if running := r.Tool(Call{Name: c.name, Arguments: c.arguments}); strings.Contains(running, "\n") {
			t.Errorf("while it runs it has rows below: %q", running)
		}
	}
	if got := ansi.Strip(r.Tool(Call{Name: "edit", Arguments: `{"path":"a.go","edits":[{"old_str`})); got != "✎ changes a.go · …" {
		t.Errorf("while it comes: %q", got)
	}
}
