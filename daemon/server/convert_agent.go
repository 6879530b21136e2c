package server

import (
	"cmp"
	"encoding/json"
	"slices"

	"loci/core"
	"loci/core/compact"
	"loci/core/service"
	"loci/daemon/api"
)

// The keys of an agent's settings that are stored and shown, but that nothing here reads.
const (
	extraProject     = "project_id"
	extraTemplate    = "template_id"
	extraBase        = "base_template_id"
	extraPutThoughts = "put_inner_thoughts_in_kwargs"
)

// relations says which of an agent's relations to show.
type relations struct{ blocks, tools, tags, folders, pending, secrets bool }

var everything = relations{blocks: true, tools: true, tags: true, folders: true}

// relationsFor reads the include parameters: a current client gets what it requests; an older one gets everything
// unless it chose with the older parameter.
func relationsFor(current bool, in api.AgentInclude) relations {
	has := func(name string) bool { return slices.Contains(in.Include, name) }
	switch {
	case current || len(in.Include) > 0:
		return relations{
			blocks:  has(api.IncludeBlocks),
			tools:   has(api.IncludeTools),
			tags:    has(api.IncludeTags),
			folders: has(api.IncludeSources),
			pending: has(api.IncludePendingApproval),
			secrets: has(api.IncludeSecrets),
		}
	case len(in.IncludeRelationships) > 0:
		old := func(names ...string) bool {
			return slices.ContainsFunc(names, func(n string) bool { return slices.Contains(in.IncludeRelationships, n) })
		}
		return relations{blocks: old("memory", "blocks"), tools: old("tools"), tags: old("tags"), folders: old("sources")}
	}
	return everything
}

// agentFacts is everything needed to show an agent.
type agentFacts struct {
	agent    core.Agent
	model    core.ModelInfo
	messages []core.MessageID
	blocks   []core.Block
	tools    []core.ToolInfo
	folders  []core.Folder
	files    []service.AgentFile
	tags     bool
}

// wireAgent converts an agent.
func wireAgent(f agentFacts) api.AgentState {
	a := f.agent
	limits := core.FileLimitsOf(&a, core.WindowOf(&a, f.model))
	no := false
	out := api.AgentState{
		ID: string(
			a.ID,
		),
		Name:      a.Name,
		System:    a.System,
		AgentType: string(a.Type),
		CreatedAt: api.AtPtr(a.CreatedAt),
		UpdatedAt: api.AtPtr(a.UpdatedAt),
		MessageIDs: strs(
			f.messages,
		),
		ToolRules:              []api.ToolRule{},
		Model:                  wireText(string(a.Model)),
		Embedding:              api.PtrTo(string(a.Embedding)),
		LLMConfig:              wireLLMConfig(a, f.model),
		ModelSettings:          wireSettings(a.Settings, f.model),
		CompactionSettings:     wireCompaction(a),
		Description:            api.PtrTo(a.Description),
		Metadata:               a.Metadata,
		MessageBufferAutoclear: a.Autoclear,
		EnableSleeptime:        &no,
		LastRunCompletion: api.AtPtr(
			a.LastRunAt,
		),
		LastStopReason: api.PtrTo(api.StopReason(a.LastStopReason)),
		Timezone:       &a.Timezone,
		Hidden:         &a.Hidden,
		ProjectID: extraText(
			a.Extra,
			extraProject,
		),
		TemplateID:                 extraText(a.Extra, extraTemplate),
		BaseTemplateID:             extraText(a.Extra, extraBase),
		MaxFilesOpen:               &limits.Open,
		PerFileViewWindowCharLimit: &limits.Chars,
	}
	if !a.LastRunAt.IsZero() {
		ms := int(a.LastRunMillis)
		out.LastRunDurationMs = &ms
	}
	if out.ModelSettings != nil {
		out.ResponseFormat = out.ModelSettings.ResponseFormat
	}
	for _, r := range a.ToolRules {
		out.ToolRules = append(out.ToolRules, wireRule(r))
	}
	for _, b := range f.blocks {
		out.Blocks = append(out.Blocks, wireBlock(b))
	}
	for _, t := range f.tools {
		out.Tools = append(out.Tools, wireTool(t))
	}
	for _, d := range f.folders {
		out.Sources = append(out.Sources, wireSource(d))
	}
	if f.tags {
		out.Tags = a.Tags
	}
	out.Memory = api.Memory{AgentType: &out.AgentType, Blocks: out.Blocks}
	for _, file := range f.files {
		out.Memory.FileBlocks = append(out.Memory.FileBlocks, wireFileBlock(file, limits.Chars))
	}
	if a.Embedding != "" {
		out.EmbeddingConfig = wireEmbedding(a.Embedding)
	}
	return out
}

func wireText(s string) *string { return &s }

// remarshal decodes one JSON shape as another; what doesn't fit is dropped.
func remarshal(from, to any) {
	data, err := json.Marshal(from)
	if err != nil {
		return
	}
	_ = json.Unmarshal(data, to) // the shape was checked when it was stored
}

// asMap returns a value as the JSON object that would be sent.
func asMap(v any) map[string]any {
	out := map[string]any{}
	remarshal(v, &out)
	return out
}

// wireCompaction shows the effective settings, including defaults.
func wireCompaction(a core.Agent) *api.CompactionSettings {
	s := compact.Read(a.Extra)
	mode, model, prompt := string(s.Mode), string(s.Model), s.Instruction()
	if model == "" {
		model = string(a.Model)
	}
	out := &api.CompactionSettings{}
	remarshal(compact.Of(a.Extra), out)
	out.Mode, out.Model, out.Prompt, out.SlidingWindowPercentage = &mode, &model, &prompt, &s.Percentage
	if out.ClipChars = api.Null[int](); s.ClipChars.Set() {
		out.ClipChars = api.Some(s.ClipChars.Value)
	}
	out.PromptAcknowledgement = &s.Acknowledge
	if s.Mode.Buffer() {
		out.MessageBufferLimit, out.MessageBufferMin, out.PartialEvictSummarizerPercentage = &s.BufferLimit, &s.BufferMin, &s.Partial
	}
	return out
}

// coreCompaction converts compaction settings; nil gives none.
func coreCompaction(in *api.CompactionSettings) (map[string]any, error) {
	if in == nil {
		return nil, nil
	}
	if mode := compact.Mode(api.Val(in.Mode)); mode != "" && !mode.Valid() {
		return nil, unprocessable("body.compaction_settings.mode", "%q is not a mode of compaction", string(mode))
	}
	return asMap(in), checkSettings("body.compaction_settings.model_settings", in.ModelSettings)
}

func extraText(extra map[string]any, key string) *string {
	if s, ok := extra[key].(string); ok {
		return &s
	}
	return nil
}

// agentTypes returns the contract's agent types; the domain decides which of them are supported.
func agentTypes() []string {
	return []string{
		api.AgentLettaV1, api.AgentMemGPTV2, api.AgentMemGPT, api.AgentReact, api.AgentWorkflow, api.AgentSplitThread, api.AgentSleeptime,
		api.AgentVoice, api.AgentVoiceSleep,
	}
}

// coreNewAgent converts the body that creates an agent.
func coreNewAgent(in api.CreateAgent) (service.NewAgent, error) {
	if t := api.Val(in.AgentType); t != "" && !slices.Contains(agentTypes(), t) {
		return service.NewAgent{}, unprocessable("body.agent_type", "%q is not a type of agents", t)
	}
	if err := unbuilt(in); err != nil {
		return service.NewAgent{}, err
	}
	out := service.NewAgent{
		Name: api.Val(
			in.Name,
		),
		Type:        core.AgentType(api.Val(in.AgentType)),
		Description: api.Val(in.Description),
		Model:       handleOf(cmp.Or(in.Model, in.LLM), in.LLMConfig),
		Settings: coreSettings(
			in.ModelSettings,
		),
		Embedding:   core.Handle(api.Val(in.Embedding)),
		Tools:       in.Tools,
		Tags:        in.Tags,
		Metadata:    in.Metadata,
		Timezone:    api.Val(in.Timezone),
		Hidden:      api.Val(in.Hidden),
		Autoclear:   api.Val(in.MessageBufferAutoclear),
		NoBaseTools: in.IncludeBaseTools != nil && !*in.IncludeBaseTools,
	}
	if in.LLMConfig != nil {
		if in.ModelSettings == nil {
			out.Settings = configSettings(*in.LLMConfig)
		}
		out.Settings.ContextWindow = in.LLMConfig.ContextWindow
	}
	if in.ContextWindowLimit != nil {
		out.Settings.ContextWindow = *in.ContextWindowLimit
	}
	if in.MaxTokens != nil {
		out.Settings.MaxOutputTokens = *in.MaxTokens
	}
	if in.ParallelToolCalls != nil {
		out.Settings.ParallelTools = in.ParallelToolCalls
	}
	if in.ResponseFormat != nil {
		out.Settings.ResponseFormat = asMap(in.ResponseFormat)
	}
	if in.System != nil {
		out.System = core.Some(*in.System)
	}
	if in.IncludeBaseToolRules != nil {
		out.BaseRules = core.Some(*in.IncludeBaseToolRules)
	}
	for _, b := range in.MemoryBlocks {
		out.Blocks = append(out.Blocks, coreBlock(b))
	}
	var err error
	if out.Extra, err = newExtra(in); err != nil {
		return out, err
	}
	if out.ToolIDs, err = ids[core.ToolID]("body.tool_ids", "tool", in.ToolIDs); err != nil {
		return out, err
	}
	if out.BlockIDs, err = ids[core.BlockID]("body.block_ids", "block", in.BlockIDs); err != nil {
		return out, err
	}
	if out.FolderIDs, err = folderIDs(in.FolderIDs, in.SourceIDs); err != nil {
		return out, err
	}
	if out.ToolRules, err = coreRules(in.ToolRules); err != nil {
		return out, err
	}
	out.First, err = coreFirst(in.InitialMessageSequence)
	return out, err
}

// folderIDs converts folder ids, given under either name.
func folderIDs(folders, sources []string) ([]core.FolderID, error) {
	out, err := ids[core.FolderID]("body.folder_ids", "source", folders)
	if err != nil {
		return nil, err
	}
	more, err := ids[core.FolderID]("body.source_ids", "source", sources)
	return append(out, more...), err
}

// coreFirst converts the initial messages of a conversation; nil asks for the agent type's own.
func coreFirst(in []api.Input) ([]core.Message, error) {
	if in == nil {
		return nil, nil
	}
	out := make([]core.Message, 0, len(in))
	for _, m := range in {
		role, content := core.Role(m.Role), m.Said()
		if content == nil || role != core.RoleUser && role != core.RoleSystem && role != core.RoleAssistant {
			return nil, unprocessable(
				"body.initial_message_sequence",
				"an initial message has a content and the role user, system or assistant",
			)
		}
		text, err := coreText("body.initial_message_sequence", content)
		if err != nil {
			return nil, err
		}
		out = append(
			out,
			core.Message{Role: role, Content: []core.Content{core.Text(text)}, Name: api.Val(m.Name), OTID: api.Val(m.OTID)},
		)
	}
	return out, nil
}

// newExtra keeps the settings that are only stored and shown.
func newExtra(in api.CreateAgent) (map[string]any, error) {
	extra := map[string]any{}
	keep(extra, extraProject, in.ProjectID)
	keep(extra, extraTemplate, in.TemplateID)
	keep(extra, extraBase, in.BaseTemplateID)
	keep(extra, core.ExtraMaxFilesOpen, in.MaxFilesOpen)
	keep(extra, core.ExtraFileViewChars, in.PerFileViewWindowCharLimit)
	settings, err := coreCompaction(in.CompactionSettings)
	if settings != nil {
		extra[compact.ExtraKey] = settings
	}
	return extra, err
}

func keep[T any](extra map[string]any, key string, v *T) {
	if v != nil {
		extra[key] = *v
	}
}

// unbuilt rejects what this server can't do yet, so that nobody relies on it.
func unbuilt(in api.CreateAgent) error {
	switch {
	case len(in.IdentityIDs) > 0:
		return core.E(core.NotFound, "there is no identity %s", in.IdentityIDs[0])
	case api.Val(in.EnableSleeptime):
		return core.E(core.Unsupported, "sleeptime agents are not built yet")
	case api.Val(in.IncludeMultiAgentTools):
		return core.E(core.Unsupported, "multi-agent tools are not built yet")
	case in.FromTemplate != nil && *in.FromTemplate != "":
		return core.E(core.Unsupported, "templates belong to the hosted service")
	}
	if err := checkConfig(in.LLMConfig); err != nil {
		return err
	}
	if err := checkFormat("body.response_format", in.ResponseFormat); err != nil {
		return err
	}
	if err := core.CheckTimezone(api.Val(in.Timezone)); err != nil {
		return unprocessable("body.timezone", "%s", err)
	}
	if slices.Contains(in.Tags, "") {
		return unprocessable("body.tags", "a tag is empty")
	}
	return checkSettings("body.model_settings", in.ModelSettings)
}

// corePatch converts the body that updates an agent.
func corePatch(in api.UpdateAgent) (service.AgentPatch, error) {
	if err := unbuilt(api.CreateAgent{
		IdentityIDs:     in.IdentityIDs.Value,
		EnableSleeptime: &in.EnableSleeptime.Value,
		LLMConfig:       patched(in.LLMConfig),
		ModelSettings:   patched(in.ModelSettings),
		ResponseFormat:  patched(in.ResponseFormat),
		Timezone:        patched(in.Timezone),
		Tags:            in.Tags.Value,
	}); err != nil {
		return service.AgentPatch{}, err
	}
	asHandle := func(s string) core.Handle { return core.Handle(s) }
	out := service.AgentPatch{
		Name: opt(in.Name), Description: opt(in.Description), System: opt(in.System), Model: optAs(in.Model, asHandle),
		Settings: optAs(in.ModelSettings, func(s api.ModelSettings) core.ModelSettings { return coreSettings(&s) }),
		Window:   opt(in.ContextWindowLimit), Parallel: opt(in.ParallelToolCalls), MaxTokens: opt(in.MaxTokens),
		Format:    optAs(in.ResponseFormat, func(f api.ResponseFormat) any { return asMap(f) }),
		Embedding: optAs(in.Embedding, asHandle), Tags: opt(in.Tags), Timezone: opt(in.Timezone), Hidden: opt(in.Hidden),
		Metadata: optAs(in.Metadata, func(o api.Object) map[string]any { return o }), Autoclear: opt(in.MessageBufferAutoclear),
	}
	if config, ok := in.LLMConfig.Get(); ok {
		if !in.Model.Set {
			out.Model = core.Some(handleOf(nil, &config))
		}
		if config.ContextWindow > 0 && !in.ContextWindowLimit.Set {
			out.Window = core.Some(config.ContextWindow)
		}
		if !in.ModelSettings.Set {
			out.Wishes = configSettings(config)
		}
	}
	return out, patchedSets(in, &out)
}

// patchedSets converts the keys whose entries have to be validated.
func patchedSets(in api.UpdateAgent, out *service.AgentPatch) (err error) {
	if out.Extra, err = patchedExtra(in); err != nil {
		return err
	}
	out.ToolIDs = core.Opt[[]core.ToolID]{Present: in.ToolIDs.Set, Null: in.ToolIDs.Null}
	if out.ToolIDs.Value, err = ids[core.ToolID]("body.tool_ids", "tool", in.ToolIDs.Value); err != nil {
		return err
	}
	out.BlockIDs = core.Opt[[]core.BlockID]{Present: in.BlockIDs.Set, Null: in.BlockIDs.Null}
	if out.BlockIDs.Value, err = ids[core.BlockID]("body.block_ids", "block", in.BlockIDs.Value); err != nil {
		return err
	}
	out.FolderIDs = core.Opt[[]core.FolderID]{Present: in.FolderIDs.Set || in.SourceIDs.Set}
	if out.FolderIDs.Value, err = folderIDs(in.FolderIDs.Value, in.SourceIDs.Value); err != nil {
		return err
	}
	out.MessageIDs = core.Opt[[]core.MessageID]{Present: in.MessageIDs.Set && !in.MessageIDs.Null}
	if out.MessageIDs.Value, err = ids[core.MessageID]("body.message_ids", "message", in.MessageIDs.Value); err != nil {
		return err
	}
	out.ToolRules = core.Opt[[]core.ToolRule]{Present: in.ToolRules.Set, Null: in.ToolRules.Null}
	out.ToolRules.Value, err = coreRules(in.ToolRules.Value)
	return err
}

func patchedExtra(in api.UpdateAgent) (map[string]any, error) {
	extra := map[string]any{}
	change(extra, extraProject, in.ProjectID)
	change(extra, extraTemplate, in.TemplateID)
	change(extra, extraBase, in.BaseTemplateID)
	change(extra, core.ExtraMaxFilesOpen, in.MaxFilesOpen)
	change(extra, core.ExtraFileViewChars, in.PerFileViewWindowCharLimit)
	if in.CompactionSettings.Set {
		extra[compact.ExtraKey] = nil
		if !in.CompactionSettings.Null {
			settings, err := coreCompaction(&in.CompactionSettings.Value)
			if err != nil {
				return nil, err
			}
			extra[compact.ExtraKey] = settings
		}
	}
	return extra, nil
}

// change records a key that was sent; null removes it.
func change[T any](extra map[string]any, key string, v api.Opt[T]) {
	switch {
	case v.Set && v.Null:
		extra[key] = nil
	case v.Set:
		extra[key] = v.Value
	}
}
