package api

// PathForget is our own operation that removes a text for good.
const PathForget = "/loci/v1/forget"

// ForgetRequest is the body of POST /loci/v1/forget: a text, or the id of a message, passage or block. Without
// confirm nothing is changed, and the response reports what would be.
type ForgetRequest struct {
	Text       string `json:"text,omitempty"`
	ID         string `json:"id,omitempty"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Confirm    bool   `json:"confirm,omitempty"`
}

// Forgetting reports where the text occurs, or occurred.
type Forgetting struct {
	ForgottenAt   *Time             `json:"forgotten_at"` // null: nothing was changed
	Mark          string            `json:"mark"`         // what replaced it
	Records       int               `json:"records"`
	Places        List[ForgetPlace] `json:"places"`
	Conversations int               `json:"conversations"` // whose window or prompt contains it
	AgentIDs      List[string]      `json:"agent_ids"`     // that these conversations belong to
	Copies        List[ForgetCopy]  `json:"copies"`        // what still contains it and isn't touched
}

// ForgetPlace is one kind of record.
type ForgetPlace struct {
	Name     string              `json:"name"`
	Count    int                 `json:"count"`
	Examples List[ForgetExample] `json:"examples"` // the first ones
}

// ForgetExample shows one line of a record.
type ForgetExample struct {
	ID   string `json:"id"`
	Line string `json:"line"`
}

// ForgetCopy is a file that contains the text.
type ForgetCopy struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`              // backup, migration, replaced, followed, git, mirror, mirrored or file
	Unknown bool   `json:"unknown,omitempty"` // it couldn't be read, so it may contain the text
}
