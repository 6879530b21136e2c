package memory

import "strings"

// Sections are the parts of a compiled prompt besides the system text; a missing one is empty.
type Sections struct {
	Blocks       string // the memory blocks
	Instructions string // what files of the open folder say
	Directories  string // the files of attached folders
	Rules        string // the tool rules
	Workspace    string // how to work in the open folder
	Facts        string // facts about what is stored outside the prompt
}

// Cut finds the sections in a compiled prompt. system is the text before compilation: nothing that a person wrote there,
// or into a block, is mistaken for a section.
func Cut(system, prompt string) Sections {
	compiled := compiledPart(system, prompt)
	var s Sections
	// Search from the end: a block may hold any text, and the blocks come first.
	for found := true; found; {
		found = false
		for _, part := range []struct {
			name string
			into *string
		}{
			{"memory_metadata", &s.Facts},
			{"tool_usage_rules", &s.Rules},
			{"directories", &s.Directories},
			{"workspace", &s.Workspace},
			{"instructions", &s.Instructions},
		} {
			if section, rest, ok := cutLast(compiled, part.name); ok && *part.into == "" {
				*part.into, compiled, found = section, rest, true
			}
		}
	}
	s.Blocks = strings.TrimSpace(compiled)
	return s
}

// compiledPart returns a prompt without the system text around it.
func compiledPart(system, prompt string) string {
	before, after, found := strings.Cut(system, Placeholder)
	if !found && system != "" {
		before += "\n\n"
	}
	rest, ok := strings.CutPrefix(prompt, before)
	if !ok {
		return ""
	}
	if i := strings.Index(after, Placeholder); i >= 0 { // the sections are repeated there: the first ones count
		if j := strings.Index(rest, after[:i]); i > 0 && j >= 0 {
			return rest[:j]
		}
		return rest
	}
	return strings.TrimSuffix(rest, after)
}

// cutLast splits off the section of that name at the end of the text.
func cutLast(text, name string) (section, rest string, ok bool) {
	text = strings.TrimSpace(text)
	at := strings.LastIndex("\n"+text, "\n<"+name+">\n") // at the start of a line, which a line of a file's view never is
	if at < 0 || !strings.HasSuffix(text, "</"+name+">") {
		return "", text, false
	}
	return text[at:], text[:at], true
}
