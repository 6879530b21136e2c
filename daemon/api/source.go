package api

// PathSources are our own operations on what an agent's memory came after: + /undo.
func PathSources(agentID string) string { return PathAgents + "/" + agentID + "/sources" }

// UndoSource is the body of POST /loci/v1/agents/{id}/sources/undo.
type UndoSource struct {
	Source string `json:"source" minLength:"1" maxLength:"1000"` // one as history shows it, what an address begins with, or a host
	DryRun bool   `json:"dry_run,omitempty"`                     // say what would be taken back, and change nothing
}

// SourceUndone says what became of a block or passage that has versions which came after a source.
type SourceUndone struct {
	BlockID   *string `json:"block_id"`
	Label     *string `json:"label"` // of the block
	PassageID *string `json:"passage_id"`
	Taken     int     `json:"taken"`    // how many versions were taken back
	Version   int     `json:"version"`  // the newest now
	Restores  *int    `json:"restores"` // the version whose content it has again
	Deleted   bool    `json:"deleted"`  // of a passage that was kept after the source: it was taken out, and an undo brings it back
	Diff      string  `json:"diff"`     // of the texts
	Kept      *string `json:"kept"`     // why versions that came after the source stay
}
