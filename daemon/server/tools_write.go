package server

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"loci/core"
	"loci/core/toolbox"
	"loci/daemon/api"
)

// source is what requests say of a tool's source.
type source struct {
	code           string
	kind           *string
	schema, args   api.Object
	description    *string
	pip, npm       *[]api.Requirement
	tags           *[]string
	limit          *int
	asks, parallel *bool
	needsSchema    bool // TypeScript has to bring one
}

// draft converts what a request says of a tool, and refuses what no source can be.
func (in source) draft() (toolbox.Draft, error) {
	kind := api.Val(in.kind)
	switch kind {
	case "", string(core.LanguagePython), string(core.LanguageTypeScript):
	case api.ToolExternalComposio, api.ToolExternalLangchain, "composio", "langchain":
		return toolbox.Draft{}, core.E(core.Unsupported, "tools of %s are not run here", kind).
			WithHint("run the service as an MCP server, and use its tools from there")
	default:
		return toolbox.Draft{}, unprocessable("body.source_type", "source_type can be python or typescript")
	}
	if in.needsSchema && kind == string(core.LanguageTypeScript) && in.schema == nil {
		return toolbox.Draft{}, unprocessable("body.json_schema", "a tool in TypeScript needs json_schema: it is not made of the source")
	}
	d := toolbox.Draft{
		Source: in.code, Language: core.ToolLanguage(kind), Description: in.description, Tags: in.tags,
		Pip: coreRequirements(in.pip), Npm: coreRequirements(in.npm), ReturnChars: in.limit, Asks: in.asks, Parallel: in.parallel,
	}
	var err error
	if d.Schema, err = givenSchema(in.schema); err != nil {
		return d, err
	}
	if in.args != nil {
		if d.ArgsSchema, err = json.Marshal(in.args); err != nil {
			return d, err
		}
	}
	return d, nil
}

type putToolInput struct{ Body api.CreateTool }

// putTool stores a tool. The contract's two ways are one: a tool of that name is replaced.
func (s *Server) putTool(ctx context.Context, in *putToolInput) (*body[api.Tool], error) {
	b := in.Body
	if b.SourceCode == "" {
		return nil, unprocessable("body.source_code", "the source is empty")
	}
	d, err := source{
		code: b.SourceCode, kind: b.SourceType, schema: b.JSONSchema, args: b.ArgsJSONSchema, description: b.Description,
		pip: b.PipRequirements, npm: b.NpmRequirements, tags: b.Tags, limit: b.ReturnCharLimit,
		asks: b.DefaultRequiresApproval, parallel: b.EnableParallelExecution, needsSchema: true,
	}.draft()
	if err != nil {
		return nil, err
	}
	t, err := s.services().Tools.Put(ctx, d)
	return answer(wireTool(t), err)
}

type updateToolInput struct {
	ToolPath
	Body api.UpdateTool
}

func (s *Server) updateTool(ctx context.Context, in *updateToolInput) (*body[api.Tool], error) {
	b := in.Body
	d, err := source{
		code: api.Val(b.SourceCode), kind: b.SourceType, schema: b.JSONSchema, args: b.ArgsJSONSchema, description: b.Description,
		pip: b.PipRequirements, npm: b.NpmRequirements, tags: b.Tags, limit: b.ReturnCharLimit,
		asks: b.DefaultRequiresApproval, parallel: b.EnableParallelExecution,
	}.draft()
	if err != nil {
		return nil, err
	}
	d.Metadata = b.Metadata
	t, err := s.services().Tools.Update(ctx, core.ToolID(in.ToolID), d)
	return answer(wireTool(t), err)
}

func (s *Server) deleteTool(ctx context.Context, in *ToolPath) (*body[any], error) {
	return empty(s.services().Tools.Delete(ctx, core.ToolID(in.ToolID)))
}

// addBaseTools answers with the built-in tools, which are always there.
func (s *Server) addBaseTools(ctx context.Context, _ *struct{}) (*body[[]api.Tool], error) {
	tools, err := s.services().Tools.List(ctx, toolbox.Filter{BuiltIn: true}, core.Page{Limit: core.MaxPage})
	return list(tools, err, wireTool)
}

type searchToolsInput struct{ Body api.SearchTools }

// searchTools finds tools by words of their name and description. Nothing of tools is embedded, so that every mode is this one.
func (s *Server) searchTools(ctx context.Context, in *searchToolsInput) (*body[[]api.FoundTool], error) {
	f := toolbox.Filter{Search: api.Val(in.Body.Query)}
	for _, k := range in.Body.ToolTypes {
		f.Kinds = append(f.Kinds, core.ToolKind(k))
	}
	all, err := s.services().Tools.List(ctx, f, core.Page{Limit: core.MaxPage})
	if err != nil {
		return nil, err
	}
	out := []api.FoundTool{}
	for _, t := range all {
		tagged := len(in.Body.Tags) == 0 || slices.ContainsFunc(in.Body.Tags, func(tag string) bool { return slices.Contains(t.Tags, tag) })
		if !tagged || len(out) == cap50(in.Body.Limit) {
			continue
		}
		rank := len(out) + 1
		out = append(out, api.FoundTool{Tool: wireTool(t), FtsRank: &rank, CombinedScore: 1 / float64(rank)})
	}
	return answer(out, nil)
}

func cap50(limit *int) int {
	if limit == nil {
		return 50
	}
	return *limit
}

type runSourceInput struct{ Body api.RunSource }

// runSource runs a tool without keeping it. One that fails is answered like one that doesn't, with its status.
func (s *Server) runSource(ctx context.Context, in *runSourceInput) (*body[api.Message], error) {
	b := in.Body
	d, err := source{
		code: b.SourceCode, kind: b.SourceType, schema: b.JSONSchema, args: b.ArgsJSONSchema, pip: b.PipRequirements,
		npm: b.NpmRequirements, needsSchema: true,
	}.draft()
	if err != nil {
		return nil, err
	}
	r, info, err := s.services().Tools.Try(ctx, toolbox.Trial{Draft: d, Name: api.Val(b.Name), Args: b.Args, Env: b.EnvVars})
	if err != nil {
		return nil, err
	}
	return answer(api.Message{
		MessageType: api.MessageToolReturn, ID: string(core.NewMessageID()), Date: api.On(time.Now()),
		ToolReturns: []api.ToolReturn{wireReturn(core.ToolReturn{
			CallID: "call-" + string(info.ID), Name: info.Spec.Name, Text: r.Text, IsError: r.IsError, Stdout: r.Stdout, Stderr: r.Stderr,
		})},
	}, nil)
}

type runToolInput struct {
	AgentPath
	ToolName string `path:"tool_name"`
	Body     *api.RunTool
}

func (s *Server) runTool(ctx context.Context, in *runToolInput) (*body[api.ToolExecution], error) {
	var args api.Arguments
	if in.Body != nil {
		args = in.Body.Args
	}
	r, err := s.services().Tools.Run(ctx, in.id(), in.ToolName, args)
	return answer(wireExecution(r), err)
}

func wireExecution(r core.ToolResult) api.ToolExecution {
	out := api.ToolExecution{Status: api.StatusSuccess, FuncReturn: r.Text, Stdout: r.Stdout, Stderr: r.Stderr}
	if r.IsError {
		out.Status = api.StatusError
	}
	return out
}
