package offline

import (
	"testing"

	"loci/core"
)

func TestAnEditWhoseReturnShowsOnlyWhatChangedIsRead(t *testing.T) {
	t.Parallel()
	before := "The user lives in Graz.\nThe user likes tea."
	ret := "The block \"human\" now has 1200 characters. Only these lines changed (- is gone, + is new):\n<changes>\n@@ -1,2 +1,1 @@\n" +
		"-The user lives in Graz.\n The user likes tea.\n</changes>"
	for name, c := range map[string]struct {
		call core.ToolCall
		want string
	}{
		"removed": {core.ToolCall{
			Name: "memory_replace", Arguments: `{"label":"human","old_string":"The user lives in Graz.\n","new_string":""}`,
		}, "The user likes tea."},
		"replaced": {core.ToolCall{
			Name: "memory_replace", Arguments: `{"label":"human","old_string":"Graz","new_string":"Lyon"}`,
		}, "The user lives in Lyon.\nThe user likes tea."},
		"rewritten": {core.ToolCall{
			Name: "memory_rethink", Arguments: `{"label":"human","new_memory":"The user lives in Lyon."}`,
		}, "The user lives in Lyon."},
	} {
		e, ok := ownEdit(c.call, ret)
		if !ok {
			t.Fatalf("%s: not read", name)
		}
		for prompt, value := range map[string]string{"older": before, "newer": c.want} {
			if got := newest(value, []edit{e}); got != c.want {
				t.Errorf("%s, a prompt %s than it: %q", name, prompt, got)
			}
		}
	}
}
