package api

import "strings"

// Paths of the rules of permission.
const (
	PathPermissions      = "/loci/v1/permissions"
	PathCheckPermissions = PathPermissions + "/check"
	PathDecisions        = PathPermissions + "/decisions"
)

// ListPermissions are the parameters of GET /loci/v1/permissions: a folder, or none for what counts everywhere.
type ListPermissions struct {
	Folder string `query:"folder"`
}

// Permissions are the rules that count in a place, and what is wrong with the files that they stand in.
type Permissions struct {
	Rules  []PermissionRule `json:"rules"`
	Faults []string         `json:"faults"`
}

// PermissionRule is one rule. To add it, Folder says where it counts, or Session that it counts for this client session;
// without either it counts everywhere.
type PermissionRule struct {
	Effect string `json:"effect" enum:"allow,ask,deny" required:"true"`
	Rule   string `json:"rule" required:"true"`
	Source string `json:"source,omitempty"` // in words; not of one to add
	Folder string `json:"folder,omitempty"`

	Session bool `json:"session,omitempty"`
}

// RemovePermission are the parameters of DELETE /loci/v1/permissions.
type RemovePermission struct {
	Rule    string `query:"rule" required:"true"`
	Folder  string `query:"folder"`
	Session bool   `query:"session"`
}

// ListDecisions are the parameters of GET /loci/v1/permissions/decisions.
type ListDecisions struct {
	AgentID        string `query:"agent_id" required:"true"`
	ConversationID string `query:"conversation_id"` // empty: the default one
	Limit          int    `query:"limit" default:"50" minimum:"1" maximum:"200"`
}

// DecisionList is what decided the last calls of a conversation, the newest first.
type DecisionList struct {
	Decisions []CallDecision `json:"decisions"`
}

// CallDecision says what became of a call that needed permission, and what decided it.
type CallDecision struct {
	ToolCallID string `json:"tool_call_id"`
	Tool       string `json:"tool"`
	Subject    string `json:"subject,omitempty"` // the arguments of the call, JSON
	Allowed    bool   `json:"allowed"`
	By         string `json:"by"` // the rule, the mode, the hook or the person
	At         Time   `json:"at"`

	Layers []string `json:"layers,omitempty"` // of the sandbox, that confined what it ran
}

// CheckPermission asks what would become of a call. Does is read, write, shell, fetch or mcp, or the name of a tool;
// Subject is the path, the line, the host, or the server and its tool.
type CheckPermission struct {
	Does    string `json:"does" required:"true"`
	Subject string `json:"subject,omitempty"`
	Folder  string `json:"folder,omitempty"`
	Mode    string `json:"mode,omitempty"` // permission mode; empty: ask

	Tool      string `json:"tool,omitempty"`      // that does it, since rules may name it; empty: Does
	Arguments string `json:"arguments,omitempty"` // of the call, a JSON object, since rules may name one

	Allow []string `json:"allow,omitempty"` // rules that count too, as if the session had them
}

// What rules and verdicts say.
const (
	EffectAllow = "allow"
	EffectAsk   = "ask"
	EffectDeny  = "deny"
)

// SourceUser is what the person wrote for everywhere, as the source of a rule.
const SourceUser = "your configuration"

// PermissionVerdict is what would become of it.
type PermissionVerdict struct {
	Effect string   `json:"effect"`
	Why    string   `json:"why"`
	Always []string `json:"always"` // the rules that would allow it

	// Of a shell line, if it may run: what is closed to it in the folder, by paths in it. "." is all of it.
	Hidden   []string `json:"hidden,omitempty"`    // it can't read these
	ReadOnly []string `json:"read_only,omitempty"` // it can't change these
}

// What a rule that opens a folder beside the workspace looks like.
const (
	dirRule      = "add_dir("
	dirWritable  = ":rw"
	dirRuleClose = ")"
)

// DirRule is the rule that opens a folder, by its absolute path, to read, or to change what is in it as well. A slash ends one whose
// own name ends in the mark, so that it isn't opened to be changed.
func DirRule(path string, writable bool) string {
	rule := dirRule + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`).Replace(path)
	switch {
	case writable:
		rule += dirWritable
	case strings.HasSuffix(path, dirWritable):
		rule += "/"
	}
	return rule + dirRuleClose
}

// DirOf reads a rule that opens a folder; ok is false if it does something else.
func DirOf(r PermissionRule) (path string, writable, ok bool) {
	path, ok = strings.CutPrefix(r.Rule, dirRule)
	path, writable = strings.CutSuffix(strings.TrimSuffix(path, dirRuleClose), dirWritable)
	path = strings.NewReplacer(`\\`, `\`, `\*`, "*", `\?`, "?").Replace(path)
	if len(path) > 1 {
		path = strings.TrimSuffix(path, "/")
	}
	return path, writable, ok && r.Effect == EffectAllow
}

// WantedDir reads how a person names a folder to open: its path, and :rw behind it for one to change. A slash ends one whose own name
// ends so.
// A path in quotes is what stands between them, with the mark on either side of the last one.
func WantedDir(text string) (path string, writable bool) {
	path, writable = strings.CutSuffix(text, dirWritable)
	for _, quote := range []string{`"`, "'"} {
		if inner, ok := strings.CutPrefix(path, quote); ok && strings.HasSuffix(inner, quote) {
			inner, marked := strings.CutSuffix(strings.TrimSuffix(inner, quote), dirWritable)
			return inner, writable || marked
		}
	}
	return path, writable
}
