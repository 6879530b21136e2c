package tui

import (
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/tui/prompt"
)

// command is a slash command. Completion, help and dispatch all come from one
// table of them.
type command struct {
	name, args, help string
	alias            string
	run              func(m *Model, arg string) tea.Cmd
	offline          bool // works before the daemon answers
	idle             bool // has to wait for the run being shown
}

func commands() []command {
	return []command{
		{name: "help", help: "keys and commands", run: help, offline: true},
		{
			name: "agents", args: "[name]", help: "choose an agent, or make one",
			run: func(m *Model, arg string) tea.Cmd { return agentPanel{m.ui, m.conv, m.backend}.open(arg) },
		},
		{
			name: "memory", args: "[block]", help: "read and edit what the agent remembers",
			run: func(m *Model, arg string) tea.Cmd { return memoryPanel{m.ui, m.conv, m.backend}.open(arg) },
		},
		{
			name: "model", args: "[handle]", help: "choose the model",
			run: func(m *Model, arg string) tea.Cmd { return modelPanel{m.ui, m.conv, m.backend}.open(arg) },
		},
		{
			name: "connect", args: "[provider]", help: "store a provider's key, check it, or remove it",
			run: func(m *Model, arg string) tea.Cmd { return providerPanel{m.ui, m.backend}.open(arg) },
		},
		{
			name: "new", help: "begin a new conversation",
			run: func(m *Model, _ string) tea.Cmd { return conversationPanel{m.ui, m.conv, m.backend}.begin() },
		},
		{
			name: "resume", help: "go on with an earlier conversation",
			run: func(m *Model, _ string) tea.Cmd { return conversationPanel{m.ui, m.conv, m.backend}.open() },
		},
		{
			name: "search", args: "[words]", help: "search what was said",
			run: func(m *Model, arg string) tea.Cmd { return searchPanel{m.ui, m.conv, m.backend, m.now}.open(arg) },
		},
		{
			name: "rewind", help: "take the conversation back to an earlier message", idle: true,
			run: func(m *Model, _ string) tea.Cmd { return m.timeline.openRewind() },
		},
		{
			name: "fork", help: "go on in a second conversation, from here or earlier",
			run: func(m *Model, _ string) tea.Cmd { return m.timeline.openFork() },
		},
		{
			name: "undo", args: "[source]", idle: true,
			help: "take back the last change or rewind, or what came after a source",
			run: func(m *Model, arg string) tea.Cmd {
				if arg != "" {
					return m.timeline.undoSource(arg)
				}
				return m.timeline.undo()
			},
		},
		{
			name: "redo", help: "redo what was undone", idle: true,
			run: func(m *Model, _ string) tea.Cmd { return m.timeline.redo() },
		},
		{
			name: "trust", help: "what the folder brings for agents: say what of it counts",
			run: func(m *Model, _ string) tea.Cmd { return trustPanel{m.ui, m.backend, m.trust.decided}.open() },
		},
		{
			name: "add-dir", args: "[dir]", help: "open a further folder, or see which are open",
			run: func(m *Model, arg string) tea.Cmd {
				return dirPanel{permissionPanel{m.ui, m.conv, m.backend, m.opts.Who.Folder, m.now}}.run(arg)
			},
		},
		{
			name: "permissions", help: "what agents may do: see and change the rules, and what decided the last calls",
			run: func(m *Model, _ string) tea.Cmd {
				return permissionPanel{m.ui, m.conv, m.backend, m.opts.Who.Folder, m.now}.open()
			},
		},
		{
			name: "tools", help: "which tools the agent has: give it one, or take one away",
			run: func(m *Model, _ string) tea.Cmd { return toolPanel{m.ui, m.conv, m.backend}.open() },
		},
		{
			name: "jobs", help: "shell lines that run: see what they write, stop them",
			run: func(m *Model, _ string) tea.Cmd { return m.jobs.open() },
		},
		{name: "todo", help: "the list that the agent works by", run: (*Model).openTodo},
		{name: "context", help: "what fills the model's context window", run: (*Model).openContext},
		{name: "cost", help: "what models cost: this conversation, this agent, today", run: (*Model).openCost},
		{name: "compact", args: "[mode]", help: "replace what was said earlier by a summary", run: (*Model).compact},
		{
			name: "copy", args: "[n]", help: "copy the last answer, or its code block n", offline: true,
			run: func(m *Model, arg string) tea.Cmd { return copyAnswer(m.ui, arg, m.opts.CopyFile) },
		},
		{
			name: "quit", alias: "exit", help: "leave; the agent stays", offline: true,
			run: func(m *Model, _ string) tea.Cmd { return m.leave() },
		},
	}
}

// completions are the commands in the form the prompt takes.
func completions() []prompt.Command {
	var out []prompt.Command
	for _, c := range commands() {
		out = append(out, prompt.Command{Name: c.name, Help: c.help})
	}
	return out
}

// parseCommand splits a slash line. If the first word contains another slash,
// it is a path and not a command.
func parseCommand(text string) (name, arg string, ok bool) {
	rest, ok := strings.CutPrefix(text, "/")
	if !ok {
		return "", "", false
	}
	name = rest
	if end := strings.IndexAny(rest, " \t\n"); end >= 0 {
		name, arg = rest[:end], strings.TrimSpace(rest[end:])
	}
	return name, arg, !strings.Contains(name, "/")
}

// runCommand runs a slash line. If it can't run, it isn't sent and stays in the
// prompt.
func (m *Model) runCommand(text, name, arg string) tea.Cmd {
	for _, c := range commands() {
		if c.name != name && (c.alias == "" || c.alias != name) {
			continue
		}
		if arg != "" && c.args == "" {
			m.ui.flash = "/" + name + " takes nothing more; by itself: " + c.help
			m.prompt.Set(text)
			return nil
		}
		if !c.offline && !m.link.connected {
			m.ui.flash = "/" + name + " needs the daemon, which does not answer yet"
			m.prompt.Set(text)
			return nil
		}
		if c.idle && m.turn != nil {
			m.ui.flash = m.conv.name() + " is busy; /" + name + " works when it has answered, or after esc"
			return nil
		}
		return c.run(m, arg)
	}
	return m.sendWritten(text, name, arg)
}
