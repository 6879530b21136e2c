package core

import (
	"context"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"
)

// The limits of variables.
const (
	MaxVariables     = 200      // of one agent, and of the sandbox
	MaxVariableName  = 128      // characters
	MaxVariableValue = 64 << 10 // bytes
	MaxVariableNote  = 2_000    // characters of a description
	maxVariableTools = 20
)

// VariableID names a variable: "agent-env-" or "sandbox-env-" and a UUIDv4.
type VariableID string

// The prefixes of the ids of variables.
const (
	AgentVariable   = "agent-env"
	SandboxVariable = "sandbox-env"
)

// Variable is a named value that tools find in their environment, and nobody else: one of an agent's secrets, or one of the
// sandbox, which is there for the tools of every agent. What an agent has hides what the sandbox has by that name.
type Variable struct {
	ID          VariableID
	Agent       AgentID // empty: of the sandbox
	Name        string
	Description string
	Tools       []string // the built-in tools that get it too; those that people wrote always do
	Sealed      []byte   // the value, as only a Sealer can open it
	CreatedAt   time.Time
	UpdatedAt   time.Time
}

// NewVariableID returns a fresh id for a variable of an agent, or of the sandbox.
func NewVariableID(agent AgentID) VariableID {
	if agent == "" {
		return NewID[VariableID](SandboxVariable)
	}
	return NewID[VariableID](AgentVariable)
}

var variableName = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*$`) })

// takenVariables would change which programs run, or what the sandbox itself sets.
var takenVariables = []string{
	"PATH", "HOME", "IFS", "ENV", "BASH_ENV", "SHELLOPTS", "BASHOPTS", "PROMPT_COMMAND", "XDG_CACHE_HOME", "TMPDIR", "PWD",
}

// ValidateVariableName reports what is wrong with the name of a variable.
func ValidateVariableName(name string) error {
	switch {
	case len(name) > MaxVariableName:
		return E(Invalid, "the name of a variable has %d characters; at most %d are possible", len(name), MaxVariableName)
	case !variableName().MatchString(name):
		return E(Invalid, "%q is no name of a variable", name).WithHint("use letters, digits and _, and no digit first")
	case slices.Contains(takenVariables, name), strings.HasPrefix(name, "LD_"), strings.HasPrefix(name, "LOCI_"),
		strings.HasPrefix(name, "BASH_FUNC_"):
		return E(Invalid, "the variable %s is not yours to set: it decides how programs of tools run", name)
	}
	return nil
}

// Validate reports the first fault of a variable.
func (v *Variable) Validate() error {
	if err := ValidateVariableName(v.Name); err != nil {
		return err
	}
	switch {
	case len([]rune(v.Description)) > MaxVariableNote:
		return E(Invalid, "the description of %s has more than %d characters", v.Name, MaxVariableNote)
	case len(v.Tools) > maxVariableTools:
		return E(Invalid, "%s names more than %d tools", v.Name, maxVariableTools)
	case len(v.Sealed) == 0:
		return E(Internal, "the value of %s is not sealed", v.Name)
	}
	return nil
}

// For reports whether a tool gets the variable.
func (v *Variable) For(tool *ToolInfo) bool {
	return tool.Kind == ToolCustom || slices.Contains(v.Tools, tool.Spec.Name) ||
		tool.Remote != nil && slices.Contains(tool.Remote.Needs, v.Name)
}

// VariableStore keeps variables. It never sees what they hold.
type VariableStore interface {
	// List returns those of an agent, or of the sandbox without one, by name.
	List(ctx context.Context, agent AgentID) ([]Variable, error)
	// Put stores a variable in place of one of its owner with that name, whose id and time of creation it then has.
	Put(ctx context.Context, v *Variable) error
	Delete(ctx context.Context, id VariableID) error
}

// Sealer keeps texts so that whoever reads the store can't read them.
type Sealer interface {
	// Seal returns a text that only Open reads, for what is called by the same name.
	Seal(ctx context.Context, text Secret, name string) ([]byte, error)
	// Open fails as unavailable where the key that sealed it can't be had.
	Open(ctx context.Context, sealed []byte, name string) (Secret, error)
}
