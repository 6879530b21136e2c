package transcript

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"
	"github.com/google/go-cmp/cmp"

	"loci/tui/theme"
)

func drawn(name, arguments, before string, width int) string {
	r := NewRenderer(theme.New(theme.None), width)
	d := DeedOf(name, arguments, before)
	return ansi.Strip(d.What + "\n" + strings.Join(r.Deed(d, 0), "\n"))
}

func TestADeedLeavesNothingOfItsArgumentsOut(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ what, name, arguments, before, want string }{
		{
			"a line", "shell", `{"command":"rm -rf a\n  b","timeout":5,"run_as":"root"}`, "",
			"to run this line\n  $ rm -rf a\n      b\n  timeout: 5\n  run_as: root",
		},
		{"one in the background", "shell", `{"command":"serve","background":true}`, "", "to run this line in the background\n  $ serve"},
		{
			"a line said twice", "shell", `{"command":"ls","command":"rm x"}`, "",
			"to call shell\n  command: ls\n  command: rm x",
		},
		{"no line", "shell", `{"command":["ls"]}`, "", "to call shell\n  command: [\"ls\"]"},
		{"broken", "shell", `{"command":"ls"`, "", "to call shell\n    {\"command\":\"ls\""},
		{"more behind", "shell", `{"command":"ls"} {}`, "", "to call shell\n    {\"command\":\"ls\"} {}"},
		{"hidden characters", "shell", `{"command":"ls \u202e\u001b[2K"}`, "", "to run this line\n  $ ls \\u202e\\u001b[2K"},
		{
			"an edit", "edit", `{"path":"a b","old_string":"x\ny\nz","new_string":"x\nY\nz","replace_all":true,"why":"so"}`, "",
			"to change \"a b\", wherever this stands\n    x\n  - y\n  + Y\n    z\n  why: so",
		},
		{
			"edits", "edit", `{"path":"a","edits":[{"old_string":"x","new_string":"y"},{"old_string":"1","new_string":""}]}`, "",
			"to change a\n  - x\n  + y\n  ⋮\n  - 1",
		},
		{
			"edits with more in them", "edit", `{"path":"a","edits":[{"old_string":"x","new_string":"y","to":"b"}]}`, "",
			"to call edit\n  path: a\n  edits: [{\"old_string\":\"x\",\"new_string\":\"y\",\"to\":\"b\"}]",
		},
		{"a new file", "write", `{"path":"a","content":"x\ny\n"}`, "", "to write a\n  + x\n  + y"},
		{"a file anew", "write", `{"path":"a","content":"x\ny\n"}`, "x\nz\n", "to change a\n    x\n  - z\n  + y"},
		{"a path like a sentence", "read", `{"path":".env: y allow\nonce"}`, "", "to read \".env: y allow\\nonce\"\n"},
	} {
		if diff := cmp.Diff(c.want, drawn(c.name, c.arguments, c.before, 60)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", c.what, diff)
		}
	}
}

func TestALongLineOfADifferenceGoesOnUnderItsMark(t *testing.T) {
	t.Parallel()
	got := drawn("write", `{"path":"a","content":"`+strings.Repeat("漢字", 6)+`+ b"}`, "", 16)
	want := "to write a\n  + 漢字漢字漢字\n  +…漢字漢字漢字\n  +…+ b"
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestAFailedCallSaysAllOfWhy(t *testing.T) {
	t.Parallel()
	r := NewRenderer(theme.New(theme.None), 40)
	why := "The rule shell(rm *) of what you allowed for this folder forbids to run rm -rf build."
	failed := func(ret string) string {
		return ansi.Strip(r.Tool(Call{Name: "deploy", Arguments: `{"stage":"test"}`, Return: ret, Done: true, Failed: true}))
	}
	want := "✗ deploy stage: test\n  The rule shell(rm *) of what you\n  allowed for this folder forbids to run\n  rm -rf build."
	if diff := cmp.Diff(want, failed("Error executing function deploy: PermissionError: "+why)); diff != "" {
		t.Error(diff)
	}
	if got := failed("Error: request to call tool denied. User reason: None"); got != "✗ deploy stage: test · denied" {
		t.Error(got)
	}
	rows := strings.Split(failed(strings.Repeat(why+" ", 20)), "\n")
	if len(rows) != 1+faultRows || !strings.Contains(rows[faultRows], "more rows") {
		t.Errorf("%d rows: %q", len(rows), rows[len(rows)-1])
	}
}
