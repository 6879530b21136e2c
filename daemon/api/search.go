package api

import "encoding/json"

// SearchMost is the maximum number of results of a search.
const SearchMost = 100

// SearchMessages is the body of POST /v1/messages/search.
type SearchMessages struct {
	Query          string  `json:"query" required:"true"`
	SearchMode     *string `json:"search_mode,omitempty" enum:"vector,fts,hybrid"`
	AgentID        *string `json:"agent_id,omitempty"`
	ConversationID *string `json:"conversation_id,omitempty"`
	Limit          *int    `json:"limit,omitempty" minimum:"1" maximum:"100"`
	StartDate      *string `json:"start_date,omitempty"`
	EndDate        *string `json:"end_date,omitempty"`
}

// SearchAgentMessages is the body of POST /v1/agents/messages/search. Parameters that only the hosted service has are
// left out.
type SearchAgentMessages struct {
	Query          *string  `json:"query,omitempty"`
	SearchMode     *string  `json:"search_mode,omitempty" enum:"vector,fts,hybrid"`
	Roles          []string `json:"roles,omitempty" enum:"assistant,user,tool,function,system,approval,summary"`
	AgentID        *string  `json:"agent_id,omitempty"`
	ConversationID *string  `json:"conversation_id,omitempty"`
	Limit          *int     `json:"limit,omitempty" minimum:"1" maximum:"100"`
	StartDate      *string  `json:"start_date,omitempty"`
	EndDate        *string  `json:"end_date,omitempty"`
}

// AgentMessageResult is one message found by such a search. There are no ranks: text and meaning add up to one score,
// and Metadata explains it.
type AgentMessageResult struct {
	EmbeddedText string        `json:"embedded_text" required:"true"`
	Message      StoredMessage `json:"message" required:"true"`
	FTSRank      *int          `json:"fts_rank"`
	VectorRank   *int          `json:"vector_rank"`
	RRFScore     float64       `json:"rrf_score" required:"true"`
	Metadata     Object        `json:"metadata"`
}

// MessageResult is one message found by a search: a system, user, assistant or reasoning message.
type MessageResult struct {
	MessageType    MessageType `json:"message_type"`
	Content        Content     `json:"content"`
	Reasoning      string      `json:"reasoning"` // instead of content
	MessageID      string      `json:"message_id"`
	AgentID        *string     `json:"agent_id"`
	ConversationID *string     `json:"conversation_id"`
	CreatedAt      Time        `json:"created_at"`
}

// MarshalJSON writes the keys that the result's type has: a reasoning message has no content, the others no
// reasoning.
func (m MessageResult) MarshalJSON() ([]byte, error) {
	type plain MessageResult
	if m.MessageType == MessageReasoning {
		return json.Marshal(struct {
			plain
			Content *Content `json:"content,omitempty"`
		}{plain: plain(m)})
	}
	return json.Marshal(struct {
		plain
		Reasoning *string `json:"reasoning,omitempty"`
	}{plain: plain(m)})
}
