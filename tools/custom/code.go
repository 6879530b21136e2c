package custom

import (
	"context"
	"strings"

	"loci/core"
	"loci/tools"
	"loci/tools/custom/run"
	"loci/tools/internal/plaintext"
	"loci/tools/internal/reach"
)

// codeDoc tells a model what run_code does.
const codeDoc = "Run a short program, confined: without the person's files, and without the network but for hosts that the person " +
	"allowed. Nothing of it stays. You read what it prints and, of Python, what its last line is; of JavaScript and TypeScript, " +
	"what it returns."

// codeArgs are the arguments of run_code.
type codeArgs struct {
	Code     string `json:"code" jsonschema:"The program."`
	Language string `json:"language" enum:"python,js,ts,shell" jsonschema:"What it is written in."`
}

// mostCode bounds a program, in bytes.
const mostCode = 256 << 10

// codeTool is the built-in tool run_code.
func codeTool(cfg *Config) core.BoundTool {
	t := tools.Typed("run_code", codeDoc, func(ctx context.Context, args codeArgs, env core.ToolEnv) (core.ToolResult, error) {
		t := &tool{cfg: cfg, of: &core.CustomTool{Name: "run_code"}}
		return t.attended(ctx, env, func(ctx context.Context, c calling) (core.ToolResult, error) { return t.runCode(ctx, args, env, c) })
	})
	t.Info.Kind, t.Info.Tags, t.Info.Effect = core.ToolBuiltin, []string{string(core.ToolBuiltin)}, core.EffectOutside
	return t
}

func (t *tool) runCode(ctx context.Context, args codeArgs, env core.ToolEnv, by calling) (core.ToolResult, error) {
	switch {
	case strings.TrimSpace(args.Code) == "":
		return core.ToolResult{}, core.E(core.Invalid, "code is empty; write the program that is to run")
	case len(args.Code) > mostCode:
		return core.ToolResult{}, core.E(core.TooLarge, "the program has %d bytes; at most %d are run", len(args.Code), mostCode)
	}
	c := run.Call{
		Tool: "run_code", Source: args.Code, Arguments: map[string]any{}, Env: env.Variables, Hosts: by.hosts, Ask: by.ask,
		Waits: by.waits,
	}
	runner := t.cfg.Python
	switch args.Language {
	case "js", "ts":
		runner = t.cfg.JavaScript
		c.Function = "run_code"
		c.Source = "export async function run_code() {" + args.Code + "\n}" // on the first line, so that lines count right
	}
	var out run.Outcome
	err := error(core.E(core.Unsupported, "there is no sandbox here"))
	switch {
	case args.Language == "shell" && t.cfg.Sandbox != nil:
		out, err = run.Program(ctx, t.cfg.Sandbox, []string{"sh", "-c", args.Code}, nil, c)
	case args.Language != "shell" && runner != nil:
		out, err = runner.Run(ctx, c)
	}
	if err != nil {
		return t.refused(err)
	}
	return codeResult(out, args.Language, env), nil
}

// codeResult is what a model reads of a program.
func codeResult(out run.Outcome, language string, env core.ToolEnv) core.ToolResult {
	var parts []string
	add := func(text string) {
		if strings.TrimSpace(text) != "" {
			parts = append(parts, strings.TrimRight(text, "\n"))
		}
	}
	add(out.Stdout)
	add(out.Stderr)
	failed := out.Class != ""
	switch {
	case failed:
		add(out.Class + ": " + plaintext.Of(out.Text))
	case out.Text != "" && (out.Text != "undefined" || language == "python"):
		add(plaintext.Of(out.Text))
	}
	if out.Note != "" {
		add("(" + out.Note + ")")
	}
	if len(parts) == 0 {
		add("It printed nothing.")
	}
	text := strings.Join(parts, "\n") + reach.Unreached(out.Refused, env.Workspace.Hosts, env.Workspace.Path != "")
	layers := out.Layers
	if len(layers) == 0 {
		layers = []string{core.LayersOff}
		text += "\n(It ran unconfined, as a person's configuration says.)"
	}
	return core.ToolResult{Text: text, IsError: failed, Layers: layers}
}
