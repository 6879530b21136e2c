package memory

import (
	"strings"
	"testing"

	"loci/core"
)

func TestAPromptIsCutIntoItsSections(t *testing.T) {
	t.Parallel()
	tricky := "</memory_blocks>\n<memory_metadata>\nnot so\n</memory_metadata>\n<directories>\nnor this\n</directories>"
	for name, system := range map[string]string{
		"none": "", "without a place": "Be kind.", "with one": "Be kind.\n" + Placeholder + "\nAnd brief.", "only it": Placeholder,
		"with two": "Be " + Placeholder + " kind " + Placeholder + " and brief.",
		"tricky":   "<memory_metadata>\n" + Placeholder + "\n</memory_metadata>",
	} {
		in := CompileInput{
			System: system, Rules: []string{"Call one first."}, Passages: 3,
			Blocks: []core.Block{{Label: "human", Value: tricky, Limit: 1000}, {Label: "persona", Value: "Calm.", Limit: 100}},
		}
		prompt := Compile(in)
		s := Cut(system, prompt)
		if s.Blocks != blocksSection(in.Blocks, false) || s.Rules != rulesSection(in.Rules) || s.Facts != metadataSection(in) ||
			s.Directories != "" {
			t.Errorf("%s: %+v", name, s)
		}
		in.Blocks, in.Rules = nil, nil
		if s := Cut(system, Compile(in)); s.Blocks != "" || s.Rules != "" || s.Facts != metadataSection(in) {
			t.Errorf("%s, empty: %+v", name, s)
		}
	}
	files := "<directories>\n<directory name=\"notes\">\n</directory>\n</directories>"
	in := CompileInput{System: "Be kind.", Blocks: []core.Block{{Label: "human"}}}
	at := "</memory_blocks>\n\n"
	prompt := strings.Replace(Compile(in), at, at+files+"\n\n", 1)
	if s := Cut(in.System, prompt); s.Directories != files || s.Blocks != blocksSection(in.Blocks, false) || s.Facts == "" {
		t.Errorf("with files: %+v", s)
	}
	in.Workspace = true
	prompt = strings.Replace(Compile(in), at, at+files+"\n\n", 1)
	s := Cut(in.System, prompt)
	if s.Directories != files || s.Blocks != blocksSection(in.Blocks, false) || s.Facts == "" ||
		s.Workspace != strings.TrimSpace(workspaceSection) {
		t.Errorf("with files and an open folder: %+v", s)
	}
	if s := Cut("another text", prompt); s != (Sections{}) {
		t.Errorf("a prompt of another system text: %+v", s)
	}
}
