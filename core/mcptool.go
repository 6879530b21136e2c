package core

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"unicode/utf8"
)

// MCPHealth says what models can make of a tool's schema, in the contract's words.
type MCPHealth string

// The states of a schema.
const (
	MCPStrict    MCPHealth = "STRICT_COMPLIANT"
	MCPNonStrict MCPHealth = "NON_STRICT_ONLY"
	MCPInvalid   MCPHealth = "INVALID"
)

// MCPOffer is a tool as its server describes it: readable, bounded, and its schema as providers take it.
type MCPOffer struct {
	Remote      string          `json:"remote"` // what its server calls it
	Description string          `json:"description"`
	Parameters  json.RawMessage `json:"parameters"`
	Health      MCPHealth       `json:"health"`
	Reasons     []string        `json:"reasons,omitempty"` // for the health
	Hash        string          `json:"hash"`              // of all that its server said of it
}

// Differs says in words how a tool differs from what it was: nothing, if it doesn't.
func (o *MCPOffer) Differs(was *MCPOffer) string {
	if o.Hash == was.Hash {
		return ""
	}
	var parts []string
	if o.Description != was.Description {
		parts = append(parts, "its description was “"+clipped(was.Description)+"” and is “"+clipped(o.Description)+"”")
	}
	if before, after := parameterNames(was.Parameters), parameterNames(o.Parameters); !slices.Equal(before, after) {
		parts = append(parts, "it took "+listed(before)+" and takes "+listed(after))
	}
	if len(parts) == 0 {
		parts = append(parts, "what it takes is described otherwise")
	}
	return strings.Join(parts, "; ")
}

func listed(names []string) string {
	if len(names) == 0 {
		return "nothing"
	}
	return clipped(strings.Join(names, ", "))
}

func parameterNames(schema json.RawMessage) (names []string) {
	var object struct {
		Properties map[string]json.RawMessage `json:"properties"`
	}
	_ = json.Unmarshal(schema, &object) // what is no schema names nothing
	for name := range object.Properties {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// MCPTool is a tool of a server, as agents have it. What its server says of it now counts once a person accepted it.
type MCPTool struct {
	ID         ToolID
	Server     MCPServerID
	ServerName string // filled in by the store
	Name       string // what models call it by
	MCPOffer
	Now  *MCPOffer // what its server says now, where that is not what was accepted
	Gone bool      // its server has it no more
}

// Spec is what a model is told of it.
func (t *MCPTool) Spec() ToolSpec {
	return ToolSpec{Name: t.Name, Description: t.Description, Parameters: t.Parameters}
}

// Validate reports the first fault of a tool.
func (t *MCPTool) Validate() error {
	switch {
	case !LegalToolName(t.Name) || t.Name == NoToolName:
		return E(Invalid, "tool name %q: up to %d letters, digits, _ and - are possible", clipped(t.Name), mostToolName)
	case t.Remote == "" || t.Server == "":
		return E(Invalid, "the tool %s is of no server", t.Name)
	case utf8.RuneCountInString(t.Description) > MaxToolNote:
		return E(TooLarge, "the description of %s has more than %d characters", t.Name, MaxToolNote)
	case len(t.Parameters) > MaxToolSchema:
		return E(TooLarge, "the schema of %s has more than %d bytes", t.Name, MaxToolSchema)
	case !isObject(t.Parameters):
		return E(Invalid, "the parameters of %s are no JSON Schema of an object", t.Name)
	}
	return nil
}

// MCPTag is the tag of the tools of a server.
func MCPTag(server string) string { return "mcp:" + server }

// RemoteTool is what a tool of a server is to whoever gives permission.
type RemoteTool struct {
	Server  MCPServerID
	Name    string   // of the server, a slash, and what the server calls it: what rules of permission match
	Code    string   // names what a call of it runs: another server or another description, another code
	Changed string   // how it differs from what a person accepted; empty: it doesn't
	Invalid string   // why no agent can have it; empty: it can
	Needs   []string // the variables of agents that its server's settings name
	Health  MCPHealth
	Reasons []string
}

// MCPListing is what a server was found to have.
type MCPListing struct {
	Offers []MCPOffer
	Left   []string // what was left out, and why
}

// MCPTarget is a server as one call reaches it: nothing of it is a template any more.
type MCPTarget struct {
	Server  MCPServer
	Secrets MCPSecrets
}

// MCPCall is a call of a tool of a server.
type MCPCall struct {
	Remote    string
	Hash      string // of what the caller knows the tool as; the server has to say the same
	Arguments map[string]any
	Pictures  ImageReader // nil: images are only told of
	Sees      bool        // whether the model takes images
}

// MCPClient speaks with servers. It starts one when it is first needed.
type MCPClient interface {
	// List asks a server what tools it has.
	List(ctx context.Context, to MCPTarget) (MCPListing, error)
	// Call calls a tool. An error of the kind Conflict says that nothing ran, since the tool is not what the caller knows.
	Call(ctx context.Context, to MCPTarget, call MCPCall) (ToolResult, error)
	// Renew starts a server anew for whoever asks next. Calls that run come to their end where they are.
	Renew(id MCPServerID)
	// Drop ends what runs of a server, and waits for it.
	Drop(id MCPServerID)
}

// Known is what whoever lets a call pass is told of the tool: what its server says now, where that differs.
func (t *MCPTool) Known() *MCPOffer {
	if t.Now != nil {
		return t.Now
	}
	return &t.MCPOffer
}
