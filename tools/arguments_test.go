package tools

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"loci/core"
	"loci/core/arguments"
	"loci/tools/web"
	"loci/tools/workspace/shell"
)

// TestWhatAToolAcceptsItsSchemaAccepts draws arguments that a tool may be given: the gate, which judges by the schema,
// refuses none that the tool would take.
func TestWhatAToolAcceptsItsSchemaAccepts(t *testing.T) {
	t.Parallel()
	for _, tool := range builtins(shell.Config{}, web.Config{}) {
		for _, spec := range []*core.ToolSpec{&tool.Info.Spec, tool.Info.Wider} {
			if spec == nil {
				continue
			}
			if _, err := arguments.Compile(spec.Parameters); err != nil {
				t.Errorf("%s: %v", spec.Name, err)
			}
		}
	}
	taken := false
	tool := Typed("sample", "A sample.", func(context.Context, sampleArgs, core.ToolEnv) (core.ToolResult, error) {
		taken = true
		return core.ToolResult{Text: "done"}, nil
	})
	schema, err := arguments.Compile(tool.Info.Spec.Parameters)
	if err != nil {
		t.Fatal(err)
	}
	r := rand.New(rand.NewPCG(3, 4))
	names := []string{"text", "count", "tags", "mode", "deep", "request_heartbeat", "other"}
	values := []string{
		`"a"`, `2`, `2.5`, `null`, `true`, `"true"`, `["x"]`, `["z"]`, `[null]`,
		`[1]`, `{}`, `"any"`, `1e2`, `-0`, `"2"`, `2.0`,
	}
	accepted := 0
	for range 20_000 {
		members := []string{`"text":"a"`}
		for range r.IntN(4) {
			members = append(members, fmt.Sprintf("%q:%s", names[r.IntN(len(names))], values[r.IntN(len(values))]))
		}
		text := "{" + strings.Join(members, ",") + "}"
		taken = false
		if call(t, tool, text); !taken {
			continue
		}
		accepted++
		if err := schema.Check(text); err != nil {
			t.Errorf("the tool takes %s and its schema doesn't: %v", text, err)
		}
	}
	if accepted < 1000 {
		t.Errorf("only %d were taken", accepted)
	}
}
