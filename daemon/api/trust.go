package api

// PathTrust is the path of what a person trusts of what a folder brings along: + /text.
const PathTrust = "/loci/v1/trust"

// ListTrust are the parameters of GET and DELETE /loci/v1/trust.
type ListTrust struct {
	Folder string `query:"folder" required:"true"`
}

// FolderItems are what a folder brings along that would act on agents.
type FolderItems struct {
	Items []FolderItem `json:"items"`
	Whole bool         `json:"whole"` // false: the folder is too large to look at all of it
}

// FolderItem is one of them.
type FolderItem struct {
	Kind  string `json:"kind"` // instructions, hooks, command, tool, servers
	Path  string `json:"path"` // in the folder
	Hash  string `json:"hash"` // SHA-256 of its contents; empty: see Fault
	Bytes int64  `json:"bytes"`
	State string `json:"state"` // new, changed, trusted or refused
	Fault string `json:"fault,omitempty"`
}

// ItemText are the parameters of GET /loci/v1/trust/text.
type ItemText struct {
	Folder string `query:"folder" required:"true"`
	Path   string `query:"path" required:"true"`
}

// FolderText is an item with its text, as it is now.
type FolderText struct {
	FolderItem
	Text string `json:"text"`
}

// The kinds of items, but for instructions.
const (
	ItemHooks   = "hooks"
	ItemCommand = "command"
	ItemTool    = "tool"
	ItemServers = "servers"
)

// The states of items.
const (
	TrustNew     = "new"
	TrustChanged = "changed"
	TrustGiven   = "trusted"
	TrustRefused = "refused"
)

// Waits reports whether somebody could trust the item and has not said anything of it as it is.
func (i *FolderItem) Waits() bool {
	return i.Fault == "" && (i.State == TrustNew || i.State == TrustChanged)
}

// DecideTrust is the body of POST /loci/v1/trust: what a person says of items that they saw.
type DecideTrust struct {
	Folder string          `json:"folder" required:"true"`
	Items  []TrustDecision `json:"items" required:"true" maxItems:"200"`
}

// TrustDecision is about an item with these contents.
type TrustDecision struct {
	Path    string `json:"path" required:"true"`
	Hash    string `json:"hash" required:"true"`
	Trusted bool   `json:"trusted"`
}
