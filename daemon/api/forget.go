package api

// PathForget is our own operation that removes a text for good.
const PathForget = "/loci/v1/forget"

// ForgetRequest is the body of POST /loci/v1/forget: a text, or the id of a message, passage or block. Without confirm
// nothing is changed, and the answer says what would be.
type ForgetRequest struct {
	Text       string `json:"text,omitempty"`
	ID         string `json:"id,omitempty"`
	IgnoreCase bool   `json:"ignore_case,omitempty"`
	Confirm    bool   `json:"confirm,omitempty"`
}

// Forgetting says where the text stands, or stood.
type Forgetting struct {
	ForgottenAt   *Time             `json:"forgotten_at"` // null: nothing was changed
	Mark          string            `json:"mark"`         // what stands in its place
	Records       int               `json:"records"`
	Places        List[ForgetPlace] `json:"places"`
	Conversations int               `json:"conversations"` // whose window or prompt holds it
	AgentIDs      List[string]      `json:"agent_ids"`     // of these conversations
	Copies        List[ForgetCopy]  `json:"copies"`        // what still holds it and is not touched
}

// ForgetPlace is a kind of record.
type ForgetPlace struct {
	Name     string              `json:"name"`
	Count    int                 `json:"count"`
	Examples List[ForgetExample] `json:"examples"` // the first ones
}

// ForgetExample shows a line of a record.
type ForgetExample struct {
	ID   string `json:"id"`
	Line string `json:"line"`
}

// ForgetCopy is a file that holds the text.
type ForgetCopy struct {
	Path    string `json:"path"`
	Kind    string `json:"kind"`              // backup, migration, replaced, followed, git, mirror, mirrored or file
	Unknown bool   `json:"unknown,omitempty"` // it could not be read: it may hold the text
}
