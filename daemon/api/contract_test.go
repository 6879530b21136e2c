package api

import (
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var contractFrom = flag.String("contract", "", "an OpenAPI file to make testdata/contract.json from")

// contract is the trimmed contract: of each schema its keys, which of them are required, what each may hold, and its
// values if it is an enumeration; of each operation its query parameters and body; of all there are their answers.
type contract struct {
	Schemas    map[string]contractSchema    `json:"schemas"`
	Operations map[string]contractOperation `json:"operations"`
	Answers    map[string]string            `json:"answers"`
}

type contractSchema struct {
	Keys     []string          `json:"keys,omitempty"`
	Required []string          `json:"required,omitempty"`
	Enum     []string          `json:"enum,omitempty"`
	Types    map[string]string `json:"types,omitempty"`
}

type contractOperation struct {
	Query []string `json:"query,omitempty"`
	Body  string   `json:"body,omitempty"`
}

// schemas are our types by the names of the contract's.
func schemas() map[string]reflect.Type {
	all := map[string]reflect.Type{
		"Health": reflect.TypeFor[Health](), "AgentState": reflect.TypeFor[AgentState](),
		"CreateAgentRequest": reflect.TypeFor[CreateAgent](), "UpdateAgent": reflect.TypeFor[UpdateAgent](),
		"Memory": reflect.TypeFor[Memory](), "FileBlock": reflect.TypeFor[FileBlock](),
		"AgentEnvironmentVariable":  reflect.TypeFor[Secret](),
		"CompactionResponse":        reflect.TypeFor[Compaction](),
		"CompactionSettings-Output": reflect.TypeFor[CompactionSettings](),
		"CompactionSettings-Input":  reflect.TypeFor[CompactionSettings](),
		"JsonSchemaResponseFormat":  reflect.TypeFor[ResponseFormat](),
		"ContextWindowOverview":     reflect.TypeFor[ContextWindow](), "FunctionTool": reflect.TypeFor[FunctionTool](),
		"FunctionDefinition": reflect.TypeFor[FunctionDefinition](), "BlockResponse": reflect.TypeFor[Block](),
		"CreateBlock": reflect.TypeFor[CreateBlock](), "BlockUpdate": reflect.TypeFor[UpdateBlock](),
		"Tool": reflect.TypeFor[Tool](), "PipRequirement": reflect.TypeFor[Requirement](),
		"ToolCreate": reflect.TypeFor[CreateTool](), "ToolUpdate": reflect.TypeFor[UpdateTool](),
		"ToolRunFromSource": reflect.TypeFor[RunSource](), "ToolExecutionResult": reflect.TypeFor[ToolExecution](),
		"ToolSearchRequest": reflect.TypeFor[SearchTools](), "ToolSearchResult": reflect.TypeFor[FoundTool](),
		"ToolCallNode": reflect.TypeFor[ToolCallNode](), "Model": reflect.TypeFor[Model](),
		"EmbeddingModel": reflect.TypeFor[EmbeddingModel](), "LLMConfig": reflect.TypeFor[LLMConfig](),
		"EmbeddingConfig": reflect.TypeFor[EmbeddingConfig](), "Conversation": reflect.TypeFor[Conversation](),
		"CreateConversation": reflect.TypeFor[CreateConversation](), "UpdateConversation": reflect.TypeFor[UpdateConversation](),
		"Run": reflect.TypeFor[Run](), "LettaRequestConfig": reflect.TypeFor[RequestConfig](),
		"Provider": reflect.TypeFor[Provider](), "ProviderCreate": reflect.TypeFor[CreateProvider](),
		"ProviderUpdate": reflect.TypeFor[UpdateProvider](), "ProviderCheck": reflect.TypeFor[TryProvider](),
		"RunMetrics": reflect.TypeFor[RunMetrics](), "UsageStatistics": reflect.TypeFor[RunUsage](),
		"UsageStatisticsPromptTokenDetails":     reflect.TypeFor[PromptTokenDetails](),
		"UsageStatisticsCompletionTokenDetails": reflect.TypeFor[CompletionTokenDetails](),
		"RetrieveStreamRequest":                 reflect.TypeFor[ResumeStream](), "Step": reflect.TypeFor[Step](),
		"StepMetrics": reflect.TypeFor[StepMetrics](), "ProviderTrace": reflect.TypeFor[ProviderTrace](),
		"BillingContext": reflect.TypeFor[BillingContext](), "Passage": reflect.TypeFor[Passage](),
		"CreateArchivalMemory": reflect.TypeFor[CreatePassage](), "ArchivalMemorySearchResponse": reflect.TypeFor[ArchivalSearch](),
		"ArchivalMemorySearchResult": reflect.TypeFor[ArchivalResult](), "PassageSearchRequest": reflect.TypeFor[SearchPassages](),
		"PassageSearchResult": reflect.TypeFor[PassageResult](), "Archive": reflect.TypeFor[Archive](),
		"ArchiveCreateRequest": reflect.TypeFor[CreateArchive](), "ArchiveUpdateRequest": reflect.TypeFor[UpdateArchive](),
		"PassageCreateRequest":      reflect.TypeFor[CreateArchivePassage](),
		"PassageBatchCreateRequest": reflect.TypeFor[CreateArchivePassages](),
		"MessageSearchRequest":      reflect.TypeFor[SearchAgentMessages](), "MessageSearchResult": reflect.TypeFor[AgentMessageResult](),
		"LettaRequest": reflect.TypeFor[Request](), "LettaStreamingRequest": reflect.TypeFor[StreamingRequest](),
		"LettaAsyncRequest": reflect.TypeFor[AsyncRequest](), "ConversationMessageRequest": reflect.TypeFor[ConversationRequest](),
		"ClientToolSchema": reflect.TypeFor[ClientTool](), "ClientSkillSchema": reflect.TypeFor[ClientSkill](),
		"CancelAgentRunRequest": reflect.TypeFor[CancelRuns](), "ResetMessagesRequest": reflect.TypeFor[ResetMessages](),
		"letta__schemas__letta_message__ToolReturn": reflect.TypeFor[ToolReturn](),
		"ToolCall": reflect.TypeFor[ToolCall](), "CompactionStats": reflect.TypeFor[CompactionStats](),
		"LettaUsageStatistics": reflect.TypeFor[Usage](), "LettaStopReason": reflect.TypeFor[Stop](),
		"LettaResponse":     reflect.TypeFor[Response](),
		"LettaErrorMessage": reflect.TypeFor[errorMessage](), "LettaPing": reflect.TypeFor[pingMessage](),
		"Folder": reflect.TypeFor[Folder](), "Source": reflect.TypeFor[Source](), "SourceCreate": reflect.TypeFor[CreateFolder](),
		"SourceUpdate": reflect.TypeFor[UpdateFolder](), "OrganizationSourcesStats": reflect.TypeFor[FolderStats](),
		"SourceStats": reflect.TypeFor[FolderNumber](), "FileStats": reflect.TypeFor[FileNumber](), "FileMetadata": reflect.TypeFor[File](),
		"AgentFileAttachment": reflect.TypeFor[AgentFile](), "PaginatedAgentFiles": reflect.TypeFor[AgentFiles](),
		"SearchAllMessagesRequest":                                               reflect.TypeFor[SearchMessages](),
		"ChatCompletionMessageFunctionToolCall-Output":                           reflect.TypeFor[StoredCall](),
		"Function-Output":                                                        reflect.TypeFor[StoredFunction](),
		"SummarizedReasoningContentPart":                                         reflect.TypeFor[SummaryPart](),
		"letta__server__rest_api__routers__v1__agents__CompactionRequest":        reflect.TypeFor[CompactAgent](),
		"letta__server__rest_api__routers__v1__conversations__CompactionRequest": reflect.TypeFor[CompactConversation](),
	}
	for name, kind := range listSchemas() {
		all[name] = members()[kind]
	}
	return all
}

func listSchemas() map[string]MessageType {
	return map[string]MessageType{
		"SystemMessage": MessageSystem, "UserMessage": MessageUser, "AssistantMessage": MessageAssistant,
		"ReasoningMessage": MessageReasoning, "HiddenReasoningMessage": MessageHiddenReasoning,
		"ToolCallMessage": MessageToolCall, "ToolReturnMessage": MessageToolReturn,
		"ApprovalRequestMessage": MessageApprovalRequest, "ApprovalResponseMessage": MessageApprovalResponse,
		"SummaryMessage": MessageSummary, "EventMessage": MessageEvent,
	}
}

// unions are our flat types, each of which must have the keys of several schemas and no others.
func unions() map[reflect.Type][]string {
	return map[reflect.Type][]string{
		reflect.TypeFor[ToolRule](): {
			"ChildToolRule", "InitToolRule", "TerminalToolRule", "ConditionalToolRule", "ContinueToolRule",
			"RequiredBeforeExitToolRule", "MaxCountPerStepToolRule", "ParentToolRule", "RequiresApprovalToolRule",
		},
		reflect.TypeFor[ModelSettings](): {
			"OpenAIModelSettings", "SGLangModelSettings", "AnthropicModelSettings", "GoogleAIModelSettings",
			"GoogleVertexModelSettings", "AzureModelSettings", "XAIModelSettings", "ZAIModelSettings", "GroqModelSettings",
			"DeepseekModelSettings", "TogetherModelSettings", "BedrockModelSettings", "BasetenModelSettings",
			"OpenRouterModelSettings", "ChatGPTOAuthModelSettings",
		},
		reflect.TypeFor[Reasoning]():      {"OpenAIReasoning", "ChatGPTOAuthReasoning"},
		reflect.TypeFor[Thinking]():       {"AnthropicThinking", "ZAIThinking"},
		reflect.TypeFor[ThinkingConfig](): {"GeminiThinkingConfig"},
		reflect.TypeFor[Part](): {
			"TextContent", "ImageContent", "ToolCallContent", "ToolReturnContent", "ReasoningContent",
			"RedactedReasoningContent", "OmittedReasoningContent", "SummarizedReasoningContent",
		},
		reflect.TypeFor[ImageSource](): {"UrlImage", "Base64Image", "LettaImage"},
		reflect.TypeFor[Input]():       {"MessageCreate", "ApprovalCreate", "ToolReturnCreate"},
		reflect.TypeFor[Approval]():    {"ApprovalReturn", "letta__schemas__letta_message__ToolReturn"},
		reflect.TypeFor[MessageResult](): {
			"SystemMessageListResult", "UserMessageListResult", "ReasoningMessageListResult", "AssistantMessageListResult",
		},
	}
}

// queries are our parameters by operation.
func queries() map[string]reflect.Type {
	return map[string]reflect.Type{
		"GET /v1/agents/": reflect.TypeFor[ListAgents](), "GET /v1/agents/count": reflect.TypeFor[AgentFilter](),
		"GET /v1/agents/{agent_id}": reflect.TypeFor[AgentInclude](), "GET /v1/agents/{agent_id}/context": reflect.TypeFor[ContextParams](),
		"POST /v1/agents/{agent_id}/recompile":             reflect.TypeFor[RecompileParams](),
		"GET /v1/agents/{agent_id}/tools":                  reflect.TypeFor[Page](),
		"GET /v1/agents/{agent_id}/core-memory/blocks":     reflect.TypeFor[Page](),
		"GET /v1/agents/{agent_id}/archival-memory":        reflect.TypeFor[ListPassages](),
		"GET /v1/agents/{agent_id}/archival-memory/search": reflect.TypeFor[SearchArchival](),
		"GET /v1/agents/{agent_id}/messages":               reflect.TypeFor[ListMessages](),
		"GET /v1/blocks/":                                  reflect.TypeFor[ListBlocks](),
		"GET /v1/blocks/count":                             reflect.TypeFor[BlockFilter](),
		"GET /v1/blocks/{block_id}/agents":                 reflect.TypeFor[ListBlockAgents](),
		"GET /v1/conversations/":                           reflect.TypeFor[ListConversations](),
		"POST /v1/conversations/":                          reflect.TypeFor[AgentParam](),
		"GET /v1/conversations/{conversation_id}/messages": reflect.TypeFor[ListConversationMessages](),
		"POST /v1/conversations/{conversation_id}/cancel":  reflect.TypeFor[AgentParam](),
		"POST /v1/conversations/{conversation_id}/fork":    reflect.TypeFor[AgentParam](),
		"GET /v1/runs/":                                    reflect.TypeFor[ListRuns](),
		"GET /v1/runs/{run_id}/messages":                   reflect.TypeFor[Page](),
		"GET /v1/runs/{run_id}/steps":                      reflect.TypeFor[Page](), "GET /v1/steps/": reflect.TypeFor[ListSteps](),
		"GET /v1/steps/{step_id}/messages": reflect.TypeFor[Page](), "GET /v1/models/": reflect.TypeFor[ListModels](),
		"GET /v1/providers/": reflect.TypeFor[ListProviders](),
		"GET /v1/tools/":     reflect.TypeFor[ListTools](), "GET /v1/archives/": reflect.TypeFor[ListArchives](),
		"GET /v1/tags/": reflect.TypeFor[ListTags](), "GET /v1/folders/": reflect.TypeFor[ListFolders](),
		"GET /v1/folders/metadata": reflect.TypeFor[FolderStatsParams](), "GET /v1/sources/metadata": reflect.TypeFor[FolderStatsParams](),
		"POST /v1/folders/{folder_id}/upload": reflect.TypeFor[UploadParams](),
		"POST /v1/sources/{source_id}/upload": reflect.TypeFor[UploadParams](),
		"GET /v1/folders/{folder_id}/agents":  reflect.TypeFor[Page](), "GET /v1/folders/{folder_id}/passages": reflect.TypeFor[Page](),
		"GET /v1/folders/{folder_id}/files":           reflect.TypeFor[ListFiles](),
		"GET /v1/folders/{folder_id}/files/{file_id}": reflect.TypeFor[GetFile](),
		"GET /v1/sources/{source_id}/files/{file_id}": reflect.TypeFor[GetFile](),
		"GET /v1/agents/{agent_id}/folders":           reflect.TypeFor[Page](),
		"GET /v1/agents/{agent_id}/sources":           reflect.TypeFor[Page](),
		"GET /v1/agents/{agent_id}/files":             reflect.TypeFor[ListAgentFiles](),
	}
}

// enums are our constants by the names of the contract's enumerations.
func enums() map[string][]string {
	return map[string][]string{
		"AgentType": {
			AgentLettaV1, AgentMemGPTV2, AgentMemGPT, AgentReact, AgentWorkflow, AgentSplitThread, AgentSleeptime,
			AgentVoice, AgentVoiceSleep,
		},
		"MessageType": asStrings(ListTypes()),
		"RunStatus":   asStrings([]RunStatus{RunCreated, RunRunning, RunCompleted, RunFailed, RunCancelled}),
		"StopReasonType": asStrings([]StopReason{
			StopEndTurn, StopError, StopLLMAPIError, StopInvalidLLMResponse, StopInvalidToolCall,
			StopMaxSteps, StopMaxTokensExceeded, StopNoToolCall, StopToolRule, StopCancelled, StopNoCredits, StopRequiresApproval,
			StopSystemPromptFull,
		}),
	}
}

func asStrings[T ~string](in []T) []string {
	out := make([]string, 0, len(in))
	for _, v := range in {
		out = append(out, string(v))
	}
	return out
}

// keys are the names that a type has under a tag, and which of them it marks as required.
func keys(t reflect.Type, tag string) (names, required []string) {
	for f := range fields(t) {
		name, _, _ := strings.Cut(f.Tag.Get(tag), ",")
		if f.Anonymous && name == "" {
			n, r := keys(f.Type, tag)
			names, required = append(names, n...), append(required, r...)
			continue
		}
		if name == "" || name == "-" {
			continue
		}
		names = append(names, name)
		if f.Tag.Get("required") == "true" {
			required = append(required, name)
		}
	}
	slices.Sort(names)
	slices.Sort(required)
	return slices.Compact(names), slices.Compact(required)
}

func fields(t reflect.Type) func(yield func(reflect.StructField) bool) {
	return func(yield func(reflect.StructField) bool) {
		for i := range t.NumField() {
			if !yield(t.Field(i)) {
				return
			}
		}
	}
}

// tooRich are keys of the contract that we leave out on purpose: projects and templates belong to a hosted service.
func tooRich(schema, key string) bool {
	switch schema {
	case "MessageSearchRequest":
		return key == "project_id" || key == "template_id"
	}
	return false
}

// ours are keys that we add to the contract's: what made a message a result stands where passages have it, the settings
// of the older form of compaction, a word about the summariser, two names that the quickstart of 2024 uses, and the effort and
// the form of the answer of one run.
func ours(schema, key string) bool {
	if key == "override_effort" || key == "override_response_format" {
		return true
	}
	switch schema {
	case "MessageSearchResult":
		return key == "metadata"
	case "CompactionSettings-Output", "CompactionSettings-Input":
		return strings.HasPrefix(key, "message_buffer_") || key == "partial_evict_summarizer_percentage"
	case "CompactionResponse":
		return key == "notice"
	case "LettaErrorMessage":
		return key == "kind"
	case "Archive": // the contract requires it and forgets to list it
		return key == "organization_id"
	case "CreateAgentRequest":
		return key == "llm"
	case "Input":
		return key == "text"
	case "ImageSource":
		return key == "about"
	}
	return false
}

func loadContract(t *testing.T) contract {
	t.Helper()
	path := filepath.Join("testdata", "contract.json")
	if *contractFrom != "" {
		trimContract(t, *contractFrom, path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var c contract
	if err := json.Unmarshal(data, &c); err != nil {
		t.Fatal(err)
	}
	return c
}

func TestContract(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	t.Run("every type has the contract's keys", func(t *testing.T) {
		t.Parallel()
		for name, typ := range schemas() {
			got, _ := keys(typ, "json")
			got = slices.DeleteFunc(got, func(k string) bool { return ours(name, k) })
			want := slices.DeleteFunc(slices.Clone(c.schema(t, name).Keys), func(k string) bool { return tooRich(name, k) })
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("%s (-contract +ours):\n%s", name, diff)
			}
		}
	})
	t.Run("what the contract requires of a body, we require", func(t *testing.T) {
		t.Parallel()
		for op, o := range c.Operations {
			typ, ok := schemas()[o.Body]
			if !ok {
				continue
			}
			_, got := keys(typ, "json")
			if diff := cmp.Diff(c.schema(t, o.Body).Required, got); diff != "" {
				t.Errorf("%s body %s (-contract +ours):\n%s", op, o.Body, diff)
			}
		}
	})
	t.Run("a flat type has the keys of its members and no others", func(t *testing.T) {
		t.Parallel()
		for typ, names := range unions() {
			var want []string
			for _, n := range names {
				want = append(want, c.schema(t, n).Keys...)
			}
			slices.Sort(want)
			got, _ := keys(typ, "json")
			got = slices.DeleteFunc(got, func(k string) bool { return ours(typ.Name(), k) })
			if diff := cmp.Diff(slices.Compact(want), got); diff != "" {
				t.Errorf("%s (-contract +ours):\n%s", typ.Name(), diff)
			}
		}
	})
	t.Run("every parameter has the contract's name", func(t *testing.T) {
		t.Parallel()
		for op, typ := range queries() {
			o, ok := c.Operations[op]
			if !ok {
				t.Errorf("%s is not in the contract", op)
			}
			got, _ := keys(typ, "query")
			if diff := cmp.Diff(o.Query, got); diff != "" {
				t.Errorf("%s (-contract +ours):\n%s", op, diff)
			}
		}
	})
	t.Run("every constant is the contract's", func(t *testing.T) {
		t.Parallel()
		for name, got := range enums() {
			want := slices.Sorted(slices.Values(c.schema(t, name).Enum))
			if diff := cmp.Diff(want, slices.Sorted(slices.Values(got))); diff != "" {
				t.Errorf("%s (-contract +ours):\n%s", name, diff)
			}
		}
	})
}

func TestAMessageWritesTheKeysOfItsTypeAndNoOthers(t *testing.T) {
	t.Parallel()
	c := loadContract(t)
	for name, kind := range listSchemas() {
		m := fullMessage()
		m.MessageType = kind
		data, err := json.Marshal(m)
		if err != nil {
			t.Fatalf("%s: %v", kind, err)
		}
		var got map[string]any
		if err := json.Unmarshal(data, &got); err != nil {
			t.Fatal(err)
		}
		names := slices.Sorted(mapKeys(got))
		if diff := cmp.Diff(c.schema(t, name).Keys, names); diff != "" {
			t.Errorf("full %s (-contract +ours):\n%s", kind, diff)
		}
		bare := Message{MessageType: kind, ID: "message-1", Date: m.Date}
		data, err = json.Marshal(bare)
		if err != nil {
			t.Fatal(err)
		}
		var least map[string]any
		if err := json.Unmarshal(data, &least); err != nil {
			t.Fatal(err)
		}
		for _, k := range c.schema(t, name).Required {
			if _, ok := least[k]; !ok {
				t.Errorf("bare %s lacks %s: %s", kind, k, data)
			}
		}
	}
}

func mapKeys(m map[string]any) func(yield func(string) bool) {
	return func(yield func(string) bool) {
		for k := range m {
			if !yield(k) {
				return
			}
		}
	}
}

func (c contract) schema(t *testing.T, name string) contractSchema {
	t.Helper()
	s, ok := c.Schemas[name]
	if !ok {
		t.Errorf("schema %s is not in the contract", name)
	}
	return s
}
