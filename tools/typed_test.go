package tools

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
)

type sampleArgs struct {
	Text  string   `json:"text" jsonschema:"A text."`
	Count *int     `json:"count,omitempty" jsonschema:"A number."`
	Tags  []string `json:"tags,omitempty" enum:"x,y" jsonschema:"Some tags."`
	Mode  string   `json:"mode,omitempty" enum:"any,all" jsonschema:"A mode."`
	Deep  bool     `json:"deep,omitempty" jsonschema:"A switch."`
}

func call(t *testing.T, tool core.BoundTool, arguments string) core.ToolResult {
	t.Helper()
	result, err := tool.Tool.Call(t.Context(), core.ToolCall{Name: tool.Info.Spec.Name, Arguments: arguments}, core.ToolEnv{})
	if err != nil {
		t.Fatal(err)
	}
	return result
}

func TestASchemaFollowsFromTheArgumentStruct(t *testing.T) {
	t.Parallel()
	tool := Typed("sample", "A sample.", func(context.Context, sampleArgs, core.ToolEnv) (core.ToolResult, error) {
		return core.ToolResult{}, nil
	})
	want := `{"type":"object","properties":{` +
		`"text":{"type":"string","description":"A text."},` +
		`"count":{"type":"integer","description":"A number."},` +
		`"tags":{"type":"array","items":{"type":"string","enum":["x","y"]},"description":"Some tags."},` +
		`"mode":{"type":"string","description":"A mode.","enum":["any","all"]},` +
		`"deep":{"type":"boolean","description":"A switch."}},"required":["text"]}`
	if diff := cmp.Diff(want, string(tool.Info.Spec.Parameters)); diff != "" {
		t.Errorf("schema (-want +got):\n%s", diff)
	}
}

func TestArgumentsAreDecodedStrictlyAndErrorsNameThem(t *testing.T) {
	t.Parallel()
	var got sampleArgs
	tool := Typed("sample", "A sample.", func(_ context.Context, args sampleArgs, _ core.ToolEnv) (core.ToolResult, error) {
		got = args
		return core.ToolResult{Text: "done"}, nil
	})
	two := 2
	for arguments, want := range map[string]sampleArgs{
		`{"text":"a"}`: {Text: "a"},
		`{"text":"a","count":2,"tags":["y"],"mode":"all","deep":true}`: {
			Text: "a", Count: &two, Tags: []string{"y"}, Mode: "all", Deep: true,
		},
		`{"text":"a","request_heartbeat":true}`:                             {Text: "a"},
		` {"text":"a","count":null,"tags":null,"mode":null,"deep":null}   `: {Text: "a"},
	} {
		if result := call(t, tool, arguments); result.IsError || result.Text != "done" {
			t.Errorf("%s: %+v", arguments, result)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", arguments, diff)
		}
	}
	for arguments, want := range map[string]string{
		``:                           `missing required argument "text", a string`,
		`{}`:                         `missing required argument "text", a string`,
		`{"text":null}`:              `missing required argument "text", a string`,
		`{"text":1}`:                 `argument "text" must be a string, not 1`,
		`{"text":"a","count":"2"}`:   `argument "count" must be an integer, not "2"`,
		`{"text":"a","count":2.5}`:   `argument "count" must be an integer, not 2.5`,
		`{"text":"a","tags":"x"}`:    `argument "tags" must be a list of strings, not "x"`,
		`{"text":"a","tags":["z"]}`:  `argument "tags" must be one of x, y, not "z"`,
		`{"text":"a","mode":"none"}`: `argument "mode" must be one of any, all, not "none"`,
		`{"text":"a","deep":"yes"}`:  `argument "deep" must be a boolean, not "yes"`,
		`{"text":"a","txet":"b"}`:    `unexpected argument "txet"; the arguments are text, count, tags, mode, deep`,
		`{"Text":"a"}`:               `unexpected argument "Text"`,
		`["a"]`:                      `the arguments are not a JSON object`,
		`{"text":"a"`:                `the arguments are not a JSON object`,
	} {
		result := call(t, tool, arguments)
		if !result.IsError || !strings.HasPrefix(result.Text, "Error executing function sample: TypeError: ") ||
			!strings.Contains(result.Text, want) {
			t.Errorf("%s: %+v, want %q", arguments, result, want)
		}
	}
}

func TestWhatAModelCanMendIsToldAndWhatBrokeIsNot(t *testing.T) {
	t.Parallel()
	broken := errors.New("disk on fire")
	fail := func(err error) core.BoundTool {
		return Typed("sample", "A sample.", func(context.Context, sampleArgs, core.ToolEnv) (core.ToolResult, error) {
			return core.ToolResult{}, err
		})
	}
	later := func(err error) core.BoundTool {
		return Typed("sample", "A sample.", func(context.Context, sampleArgs, core.ToolEnv) (core.ToolResult, error) {
			return core.ToolResult{Apply: func(context.Context, core.ToolEdits) (core.ToolResult, error) {
				return core.ToolResult{Text: "applied"}, err
			}}, nil
		})
	}
	long := core.E(core.Invalid, "%s", strings.Repeat("ö", 5000))
	result := call(t, fail(long), `{"text":"a"}`)
	if !result.IsError || len([]rune(result.Text)) != 1000 {
		t.Errorf("an error of %d characters", len([]rune(result.Text)))
	}
	if _, err := fail(broken).Tool.Call(t.Context(), core.ToolCall{Arguments: `{"text":"a"}`}, core.ToolEnv{}); !errors.Is(err, broken) {
		t.Errorf("a broken tool gave %v", err)
	}
	result, err := call(t, later(core.E(core.TooLarge, "too much")), `{"text":"a"}`).Apply(t.Context(), core.ToolEdits{})
	if err != nil || result.Text != "Error executing function sample: ValueError: too much" || !result.IsError {
		t.Errorf("Apply() = %+v, %v", result, err)
	}
	if _, err := call(t, later(broken), `{"text":"a"}`).Apply(t.Context(), core.ToolEdits{}); !errors.Is(err, broken) {
		t.Errorf("a broken Apply gave %v", err)
	}
	if result, err := call(t, later(nil), `{"text":"a"}`).Apply(t.Context(), core.ToolEdits{}); err != nil || result.Text != "applied" {
		t.Errorf("Apply() = %+v, %v", result, err)
	}
}

func TestSpeakingAcknowledges(t *testing.T) {
	t.Parallel()
	tool, _, err := New().Find(t.Context(), "send_message")
	if err != nil {
		t.Fatal(err)
	}
	if got := call(t, tool, `{"message":"hello"}`); got.Text != "Sent message successfully." || got.IsError {
		t.Errorf("%+v", got)
	}
	if got := call(t, tool, `{"message":""}`); !got.IsError {
		t.Errorf("%+v", got)
	}
	if !tool.Info.Terminal {
		t.Error("send_message does not end the turn of an agent that must call tools")
	}
}

func FuzzArgumentsOfAnyShapeAreRefusedNotBroken(f *testing.F) {
	for _, seed := range []string{`{"text":"a"}`, `{"count":1e400}`, `{"text":"a","tags":[{}]}`, `[`, `{"text":"\ud800"}`} {
		f.Add(seed)
	}
	tool := Typed("sample", "A sample.", func(context.Context, sampleArgs, core.ToolEnv) (core.ToolResult, error) {
		return core.ToolResult{Text: "done"}, nil
	})
	f.Fuzz(func(t *testing.T, arguments string) {
		result, err := tool.Tool.Call(t.Context(), core.ToolCall{Arguments: arguments}, core.ToolEnv{})
		if err != nil || result.IsError == (result.Text == "done") {
			t.Errorf("%q: %+v, %v", arguments, result, err)
		}
	})
}
