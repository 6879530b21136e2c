package memory

import (
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"loci/core"
)

// Placeholder marks where a system text wants the compiled memory.
const Placeholder = "{CORE_MEMORY}"

// stampLayout is the contract's form of local time: date, twelve-hour clock, zone and offset.
const stampLayout = "2006-01-02 03:04:05 PM MST-0700"

// Stamp formats a time as in prompts and packed records, in t's zone.
func Stamp(t time.Time) string { return t.Format(stampLayout) }

// lineWarning precedes numbered values; the tools that edit lines refuse text that contains it.
const lineWarning = "The numbers and arrows before the lines below are for display: they are no part of the value and do not " +
	"belong into what you write."

// CompileInput is everything a compiled prompt depends on.
type CompileInput struct {
	System       string
	Blocks       []core.Block // in the order of attachment
	LineNumbers  bool
	Rules        []string // sentences of core/rules
	Agent        core.AgentID
	Conversation core.ConversationID
	CompiledAt   time.Time    // in the agent's zone
	Messages     int          // stored messages of the conversation
	Passages     int          // in the agent's archive
	Tags         []string     // the archive's most used tags
	Directories  *Directories // nil: no folder is attached
	Instructions Instructions // of the open folder
	Workspace    bool         // it has tools that work in the folder that a person opened
}

// Compile returns the system prompt: the system text with its placeholder replaced by the compiled memory, or, without a
// placeholder, with the memory appended after a blank line.
func Compile(in CompileInput) string {
	compiled := Memory(in)
	if strings.Contains(in.System, Placeholder) {
		return strings.ReplaceAll(in.System, Placeholder, compiled)
	}
	if in.System == "" {
		return compiled
	}
	return in.System + "\n\n" + compiled
}

// Memory returns the compiled memory alone: blocks, what the open folder's files say about working in it, tool rules, folders,
// how to work in an open one, and facts about what is stored outside the prompt.
func Memory(in CompileInput) string {
	sections := make([]string, 0, 6)
	if len(in.Blocks) > 0 {
		sections = append(sections, blocksSection(in.Blocks, in.LineNumbers))
	}
	if len(in.Instructions.Texts) > 0 {
		sections = append(sections, in.Instructions.String())
	}
	if len(in.Rules) > 0 {
		sections = append(sections, rulesSection(in.Rules))
	}
	if in.Directories != nil {
		sections = append(sections, in.Directories.String())
	}
	if in.Workspace {
		sections = append(sections, strings.TrimSpace(workspaceSection))
	}
	return strings.Join(append(sections, metadataSection(in)), "\n\n")
}

func blocksSection(blocks []core.Block, numbered bool) string {
	var b strings.Builder
	b.WriteString("<memory_blocks>\nThese blocks of your memory are always before you:\n\n")
	for i := range blocks {
		if i > 0 {
			b.WriteByte('\n')
		}
		writeBlock(&b, &blocks[i], numbered)
	}
	b.WriteString("</memory_blocks>")
	return b.String()
}

func writeBlock(b *strings.Builder, block *core.Block, numbered bool) {
	fmt.Fprintf(b, "<%s>\n<description>\n%s\n</description>\n<metadata>\n", block.Label, block.Description)
	if block.ReadOnly {
		b.WriteString("- read_only=true\n")
	}
	fmt.Fprintf(b, "- chars_current=%d\n- chars_limit=%d\n</metadata>\n", utf8.RuneCountInString(block.Value), block.Limit)
	value := block.Value
	if numbered {
		b.WriteString("<warning>\n" + lineWarning + "\n</warning>\n")
		value = NumberLines(value)
	}
	fmt.Fprintf(b, "<value>\n%s\n</value>\n</%s>\n", value, block.Label)
}

// NumberLines formats a value as in prompts with line numbers; an empty value stays empty.
func NumberLines(value string) string {
	if value == "" {
		return ""
	}
	var b strings.Builder
	for i, line := range strings.Split(value, "\n") {
		if i > 0 {
			b.WriteByte('\n')
		}
		b.WriteString(strconv.Itoa(i+1) + "→ " + line)
	}
	return b.String()
}

func rulesSection(rules []string) string {
	var b strings.Builder
	b.WriteString("<tool_usage_rules>\nThese rules say which tools you may or must call, and when:\n\n")
	for _, rule := range rules {
		b.WriteString("<tool_rule>\n" + rule + "\n</tool_rule>\n")
	}
	b.WriteString("</tool_usage_rules>")
	return b.String()
}

func metadataSection(in CompileInput) string {
	conversation := string(in.Conversation)
	if conversation == "" || in.Conversation == core.DefaultConversation(in.Agent) {
		conversation = "default"
	}
	var b strings.Builder
	b.WriteString("<memory_metadata>\n")
	fmt.Fprintf(&b, "- AGENT_ID: %s\n- CONVERSATION_ID: %s\n", in.Agent, conversation)
	fmt.Fprintf(&b, "- System prompt last recompiled: %s\n", Stamp(in.CompiledAt))
	fmt.Fprintf(&b, "- %d previous messages between you and the user are stored in recall memory\n", in.Messages)
	if in.Passages > 0 {
		fmt.Fprintf(&b, "- %d total memories are stored in archival memory\n", in.Passages)
	}
	if len(in.Tags) > 0 {
		b.WriteString(TagsLine + strings.Join(in.Tags, tagsBetween) + "\n")
	}
	b.WriteString("</memory_metadata>")
	return b.String()
}

// TagsLine begins the line of a compiled prompt that lists the tags of the archive.
const TagsLine = "- Archival memory tags: "

const tagsBetween = ", "

// WithoutTags removes these tags from the list of tags in a compiled prompt.
func WithoutTags(prompt string, tags []string) string {
	lines := strings.Split(prompt, "\n")
	for i, line := range lines {
		list, ok := strings.CutPrefix(line, TagsLine)
		if !ok {
			continue
		}
		for _, tag := range tags {
			list = strings.ReplaceAll(tagsBetween+list+tagsBetween, tagsBetween+tag+tagsBetween, tagsBetween)
			list = strings.TrimSuffix(strings.TrimPrefix(list, tagsBetween), tagsBetween)
		}
		lines[i] = TagsLine + list
	}
	return strings.Join(lines, "\n")
}
