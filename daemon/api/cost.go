package api

// The paths of our operations on what models cost.
const (
	PathCosts   = "/loci/v1/costs"
	PathBudgets = "/loci/v1/budgets"
)

// ListCosts are the parameters of GET /loci/v1/costs.
type ListCosts struct {
	AgentID        string   `query:"agent_id"`
	ConversationID string   `query:"conversation_id"`
	RunIDs         []string `query:"run_id,explode" maxItems:"1000"`
	StepID         string   `query:"step_id"`
	By             string   `query:"by" enum:"agent,conversation,run,step,model,purpose,day"` // empty: one sum
	Days           int      `query:"days" minimum:"0" maximum:"366"`                          // today and those before; 0: all
}

// Cost is the sum of what calls of models used and cost.
type Cost struct {
	Key              string   `json:"key"` // what they have in common; empty: the sum of all
	Calls            int      `json:"calls"`
	PromptTokens     int      `json:"prompt_tokens"`
	CompletionTokens int      `json:"completion_tokens"`
	CachedTokens     int      `json:"cached_tokens"`   // of those sent
	Dollars          *float64 `json:"dollars"`         // null: no price is known
	UnpricedCalls    int      `json:"unpriced_calls"`  // which dollars leave out, since their price is unknown
	EstimatedCalls   int      `json:"estimated_calls"` // whose tokens are estimated
	Shown            string   `json:"shown"`           // what it cost, in words
}

// Budget is what may be spent in a day, and what of it is.
type Budget struct {
	AgentID       string   `json:"agent_id"` // empty: all of the home
	Dollars       *float64 `json:"dollars"`  // null: no limit
	Tokens        *int     `json:"tokens"`   // null: no limit
	SpentDollars  float64  `json:"spent_dollars"`
	SpentTokens   int      `json:"spent_tokens"`
	UnpricedCalls int      `json:"unpriced_calls"` // of today, whose price is unknown
	Shown         string   `json:"shown"`
}

// The limits of a budget.
const (
	LimitDollars = "dollars"
	LimitTokens  = "tokens"
)

// SetBudget is the body of PUT /loci/v1/budgets. What it leaves out stays as it is; a budget without limits is removed.
type SetBudget struct {
	AgentID string   `json:"agent_id,omitempty"`                                  // empty: all of the home
	Dollars *string  `json:"dollars,omitempty"`                                   // like 2.50
	Tokens  *int     `json:"tokens,omitempty"`                                    // sent and answered
	Remove  []string `json:"remove,omitempty" enum:"dollars,tokens" maxItems:"2"` // limits that there are no more
}
