package custom_test

import (
	"context"
	"os"
	"strings"
	"testing"

	"loci/core"
	"loci/sandbox"
	"loci/tools"
	"loci/tools/custom"
	"loci/tools/custom/javascript"
	"loci/tools/custom/python"
	"loci/tools/custom/run"
)

func TestShortProgramsRunInFourLanguages(t *testing.T) {
	t.Parallel()
	cage := sandbox.New(sandbox.Config{Mode: sandbox.Off})
	t.Cleanup(cage.Close)
	pythons := run.New(run.Config{Sandbox: cage, Start: python.Interpreter(os.Getenv("PATH"))})
	t.Cleanup(pythons.Close)
	engines := run.New(run.Config{Sandbox: cage, Start: javascript.Engine(os.Getenv("PATH"))})
	t.Cleanup(engines.Close)
	box := custom.New(custom.Config{BuiltIn: tools.New(), Sandbox: cage, Python: pythons, JavaScript: engines})
	tool, ok, err := box.Find(t.Context(), "run_code")
	if err != nil || !ok || tool.Info.Kind != core.ToolBuiltin || tool.Info.Effect != core.EffectOutside {
		t.Fatalf("%v %v %+v", err, ok, tool.Info)
	}
	for name, tt := range map[string]struct {
		args   string
		want   string
		failed bool
	}{
		"Python":      {`{"language": "python", "code": "import math\nprint('hi')\nmath.factorial(5)"}`, "hi\n120", false},
		"no value":    {`{"language": "python", "code": "x = 1"}`, "It printed nothing.", false},
		"an error":    {`{"language": "python", "code": "print('a')\n1/0"}`, "ZeroDivisionError: division by zero", true},
		"JavaScript":  {`{"language": "js", "code": "console.log(1); return await Promise.resolve([2])"}`, "1\n[2]", false},
		"TypeScript":  {`{"language": "ts", "code": "const a: number = 3;\nconsole.log(a)"}`, "3", false},
		"wrong lines": {`{"language": "ts", "code": "\nconst = 3"}`, "SyntaxError: line 2", true},
		"shell":       {`{"language": "shell", "code": "echo out; echo err >&2; exit 3"}`, "out\nerr\nExit code 3.", false},
		"none":        {`{"language": "shell", "code": " "}`, "code is empty", true},
		"another":     {`{"language": "cobol", "code": "x"}`, "must be one of", true},
	} {
		r, err := tool.Tool.Call(context.Background(), core.ToolCall{Name: "run_code", Arguments: tt.args}, core.ToolEnv{})
		if strings.Contains(r.Text, "no python3") {
			continue
		}
		text := strings.TrimSuffix(r.Text, "\n(It ran unconfined, as a person's configuration says.)")
		if err != nil || r.IsError != tt.failed || !tt.failed && text != tt.want || !strings.Contains(text, tt.want) {
			t.Errorf("%s: %v %q", name, err, r.Text)
		}
	}
}
