package core

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"regexp"
	"strings"
	"sync"
	"time"
	"unicode/utf8"
)

// The limits of tools that people write.
const (
	MaxCustomTools      = 2_000 // in one home
	MaxCustomToolName   = 48    // characters, as the contract has it
	MaxToolSource       = 1 << 20
	MaxToolSchema       = 256 << 10 // bytes of what describes the arguments
	MaxToolNote         = 20_000    // characters of the description
	MaxToolTags         = 50
	MaxToolRequirements = 50
	MaxReturnChars      = 1_000_000
	maxToolWord         = 200 // characters of a tag, of a package's name and of its version
)

// ToolLanguage is what the source of a tool is written in: the contract's source_type.
type ToolLanguage string

// The languages.
const (
	LanguagePython     ToolLanguage = "python"
	LanguageTypeScript ToolLanguage = "typescript"
	LanguageProgram    ToolLanguage = "program" // a script that says itself what runs it
)

// Requirement is a package that the source of a tool needs.
type Requirement struct {
	Name    string `json:"name"`
	Version string `json:"version,omitempty"`
}

// CustomTool is a tool that a person wrote. Its name is that of its function, and there is one of each name.
type CustomTool struct {
	ID          ToolID
	Name        string
	Description string
	Language    ToolLanguage
	File        string // in which it stands, absolute; empty: it is stored
	Source      string
	Parameters  json.RawMessage // what it takes, a JSON Schema of an object
	ArgsSchema  json.RawMessage // what was given in place of the function's own parameters; empty: nothing
	Tags        []string
	Pip, Npm    []Requirement
	ReturnChars int            // 0: the default
	Asks        bool           // an agent that gets it gets the rule that a person approves its calls
	Parallel    bool           // its calls may run side by side
	Metadata    map[string]any // kept and shown, and read by nothing
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// NewToolID returns a fresh id of a tool that has a row.
func NewToolID() ToolID { return NewID[ToolID]("tool") }

// Spec is what a model is told of it.
func (t *CustomTool) Spec() ToolSpec {
	return ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
}

// Code names what a call of it runs: another name, other code. What is no custom tool has none.
func (t *CustomTool) Code() string {
	if t == nil {
		return ""
	}
	text, _ := json.Marshal([]any{t.Name, t.Language, t.File, t.Source, t.Pip, t.Npm}) // texts alone, which can be written
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// requirementWord is what the name and the version of a package can hold: no address, path or option.
var requirementWord = sync.OnceValue(func() *regexp.Regexp {
	return regexp.MustCompile(`^[A-Za-z0-9@][A-Za-z0-9@/._\[\],~<>=!*+ ^|-]*$`)
})

// Validate reports the first fault of a tool.
func (t *CustomTool) Validate() error {
	switch {
	case !LegalToolName(t.Name) || utf8.RuneCountInString(t.Name) > MaxCustomToolName:
		return E(Invalid, "tool name %q: 1 to %d letters, digits, _ and - are possible", clipped(t.Name), MaxCustomToolName)
	case t.Name == NoToolName || t.Name == MoreToolsName:
		return E(Invalid, "no tool can be named %s", t.Name)
	case t.Language != LanguagePython && t.Language != LanguageTypeScript && (t.Language != LanguageProgram || t.File == ""):
		return E(Invalid, "source_type %q is not known; it can be %s or %s", clipped(string(t.Language)),
			LanguagePython, LanguageTypeScript)
	case strings.TrimSpace(t.Source) == "":
		return E(Invalid, "the tool %s has no source", t.Name)
	case len(t.Source) > MaxToolSource:
		return E(TooLarge, "the source of %s has %d bytes; at most %d are kept", t.Name, len(t.Source), MaxToolSource)
	case !utf8.ValidString(t.Source) || strings.ContainsRune(t.Source, 0):
		return E(Invalid, "the source of %s is not text in UTF-8", t.Name)
	case utf8.RuneCountInString(t.Description) > MaxToolNote:
		return E(TooLarge, "the description of %s has more than %d characters", t.Name, MaxToolNote)
	case len(t.Parameters) > MaxToolSchema || len(t.ArgsSchema) > MaxToolSchema:
		return E(TooLarge, "the schema of %s has more than %d bytes", t.Name, MaxToolSchema)
	case !isObject(t.Parameters):
		return E(Invalid, "the parameters of %s are no JSON Schema of an object", t.Name)
	case t.ReturnChars < 0 || t.ReturnChars > MaxReturnChars:
		return E(Invalid, "a return of %s has 1 to %d characters", t.Name, MaxReturnChars)
	}
	return t.validateLists()
}

func (t *CustomTool) validateLists() error {
	if len(t.Tags) > MaxToolTags || len(t.Pip)+len(t.Npm) > MaxToolRequirements {
		return E(TooLarge, "%s has more than %d tags or %d requirements", t.Name, MaxToolTags, MaxToolRequirements)
	}
	for _, tag := range t.Tags {
		if tag == "" || utf8.RuneCountInString(tag) > maxToolWord {
			return E(Invalid, "the tag %q of %s has not 1 to %d characters", clipped(tag), t.Name, maxToolWord)
		}
	}
	for _, list := range [][]Requirement{t.Pip, t.Npm} {
		for _, r := range list {
			wrong := !requirementWord().MatchString(r.Name) || r.Version != "" && !requirementWord().MatchString(r.Version)
			if wrong || len(r.Name)+len(r.Version) > maxToolWord {
				return E(Invalid, "%q is no package that %s can ask for: a name, and a version if need be",
					clipped(r.Name+" "+r.Version), t.Name)
			}
		}
	}
	return nil
}

func isObject(text json.RawMessage) bool {
	var object map[string]json.RawMessage
	return json.Unmarshal(text, &object) == nil && object != nil
}

// clipped keeps a message readable, whatever it quotes.
func clipped(s string) string {
	const most = 80
	if r := []rune(s); len(r) > most {
		return string(r[:most]) + "…"
	}
	return s
}

// ToolStore keeps the tools that people wrote.
type ToolStore interface {
	Get(ctx context.Context, id ToolID) (CustomTool, error)
	// Among returns those of the given ids that there are, in no order.
	Among(ctx context.Context, ids []ToolID) ([]CustomTool, error)
	Find(ctx context.Context, name string) (CustomTool, bool, error)
	// List returns all of them, by name.
	List(ctx context.Context) ([]CustomTool, error)
	// Put stores a tool in place of one with its id. A name that another one has is a conflict.
	Put(ctx context.Context, t *CustomTool) error
	Delete(ctx context.Context, id ToolID) error
}

// ToolMaker makes tools of what people wrote. It runs nothing before a tool is called.
type ToolMaker interface {
	// Describe fills in what the source says and t lacks: name, description, parameters.
	Describe(t *CustomTool) error
	// Bind returns the tool as it is called.
	Bind(t *CustomTool) BoundTool
	// Prepare installs the packages that the tool asks for, if they aren't there. tell is called with what is done; it must not block.
	Prepare(ctx context.Context, t *CustomTool, tell func(string)) error
}
