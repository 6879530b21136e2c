package api

import "slices"

// PathSources are our own operations on what an agent's memory came after: + /undo.
func PathSources(agentID string) string { return PathAgents + "/" + agentID + "/sources" }

// UndoSource is the body of POST /loci/v1/agents/{id}/sources/undo.
type UndoSource struct {
	Source string `json:"source" minLength:"1" maxLength:"1000"` // one as history shows it, what it begins with, or a host
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
	// Sources are those that it came after and that the name stands for.
	Sources []string `json:"sources"`
}

// SourcesOf are the sources that the name stands for by which these were undone.
func SourcesOf(all []SourceUndone) (names []string) {
	for i := range all {
		for _, name := range all[i].Sources {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
