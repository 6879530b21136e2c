package api

// PathArchivalOf begins our own operations on an agent's archival memory.
func PathArchivalOf(agentID string) string { return PathAgents + "/" + agentID + "/passages" } // + /changes, /last

// PassageVersion is one state of a passage. What it was kept with is version 1.
type PassageVersion struct {
	PassageID string       `json:"passage_id"`
	ArchiveID string       `json:"archive_id"`
	Version   int          `json:"version"`
	Seq       int64        `json:"seq"` // order among the changes of all passages; 0: it never changed
	Text      string       `json:"text"`
	Tags      List[string] `json:"tags"`
	Metadata  Object       `json:"metadata"`
	Deleted   bool         `json:"deleted"` // this version is that it was deleted; among the changes of an agent, with the text that was
	Author    string       `json:"author"`  // user or agent
	AuthorID  *string      `json:"author_id"`
	StepID    *string      `json:"step_id"`
	RewindID  *string      `json:"rewind_id"`
	Restores  *int         `json:"restores"` // the version whose content it restored
	Source    *string      `json:"source"`   // what came from outside in the same run before it was written, one a line
	CreatedAt Time         `json:"created_at"`
}

// PassageVersions are the parameters of GET /loci/v1/passages/{id}/versions, which are listed newest first.
type PassageVersions struct {
	Page
	UpdatePassageParams
}

// PassageChanges are the parameters of GET /loci/v1/agents/{id}/passages/changes, which are listed newest first.
type PassageChanges struct {
	Before int64 `query:"before" minimum:"0"` // a seq: only older ones
	Limit  int   `query:"limit" minimum:"1" maximum:"1000"`
}

// UndoPassage is the body of an undo. Without a version, the last change that isn't undone yet is undone.
type UndoPassage struct {
	Version *int `json:"version,omitempty" minimum:"1"`
}

// PassageUndone reports what an undo or redo restored: a new version with the content of an earlier one.
type PassageUndone struct {
	Was      PassageVersion `json:"was"`
	Passage  PassageVersion `json:"passage"`
	Version  int            `json:"version"`
	Restores int            `json:"restores"`
	Diff     string         `json:"diff"` // of the texts
}

// LastPassageParams are the parameters of GET /loci/v1/agents/{id}/passages/last.
type LastPassageParams struct {
	Redo bool `query:"redo"` // what was undone last instead of what was changed last
}

// LastPassageChange is the last change of a passage that an agent itself made and that can be undone or redone.
type LastPassageChange struct {
	Edit  *PassageVersion `json:"edit"` // null: there is none
	From  *PassageVersion `json:"from"` // what it changed
	Now   int             `json:"now"`  // the newest version of the passage
	Since *PassageVersion `json:"since"`
	At    *Time           `json:"at"` // when it was made or undone
}
