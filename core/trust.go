package core

// FolderItem is something that a folder brings along and that would act on agents: it counts once a person trusts it, as it
// is. What changes afterwards waits for a person again.
type FolderItem struct {
	Kind  FolderItemKind
	Path  string // in the folder, with slashes
	Hash  string // of its contents; empty: see Fault
	Bytes int64
	State TrustState
	Fault string // why nobody can trust it, in a clause; empty: somebody can
}

// FolderItemKind says what an item does.
type FolderItemKind string

// The kinds.
const (
	ItemInstructions FolderItemKind = "instructions" // a text that agents follow
	ItemHooks        FolderItemKind = "hooks"        // programs that run around calls
	ItemTool         FolderItemKind = "tool"         // a program that agents call, or a part of one
	ItemCommand      FolderItemKind = "command"      // a message that a person sends by its name
	ItemServers      FolderItemKind = "servers"      // programs that would be started for their tools
)

// Where a folder keeps what acts, with slashes.
const (
	FolderHooks    = ".loci/hooks.json"
	FolderTools    = ".loci/tools"
	FolderCommands = ".loci/commands"
)

// TrustState is what a person said of an item.
type TrustState string

// The states.
const (
	TrustNew     TrustState = "new"     // nothing yet
	TrustChanged TrustState = "changed" // something, when it was another one
	TrustGiven   TrustState = "trusted"
	TrustRefused TrustState = "refused" // that it doesn't count; it is not asked about again
)

// TrustDecision is what a person says of an item with these contents.
type TrustDecision struct {
	Path    string
	Hash    string
	Trusted bool
}

// Instructions is a text of a folder that a person trusts: for agents, or for whoever it is a command of.
type Instructions struct {
	Path string // in the folder, with slashes
	Text string
}
