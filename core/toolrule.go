package core

// ToolRuleType is the contract's type of a tool rule.
type ToolRuleType string

// The types of tool rules. Package core/rules decides their order of evaluation.
const (
	RuleRunFirst           ToolRuleType = "run_first"
	RuleExitLoop           ToolRuleType = "exit_loop"
	RuleContinueLoop       ToolRuleType = "continue_loop"
	RuleConstrainChild     ToolRuleType = "constrain_child_tools"
	RuleConditional        ToolRuleType = "conditional"
	RuleParentLast         ToolRuleType = "parent_last_tool"
	RuleMaxCount           ToolRuleType = "max_count_per_step"
	RuleRequiredBeforeExit ToolRuleType = "required_before_exit"
	RuleRequiresApproval   ToolRuleType = "requires_approval"
)

// ToolRule constrains which tool may or must come next. Fields that a type doesn't use are empty.
type ToolRule struct {
	Type          ToolRuleType      `json:"type"`
	Tool          string            `json:"tool_name"`
	Children      []string          `json:"children,omitempty"`
	ChildArgs     []ChildArgs       `json:"child_arg_nodes,omitempty"`
	Args          Arguments         `json:"args,omitempty"` // run_first: prefilled arguments
	Mapping       map[string]string `json:"child_output_mapping,omitempty"`
	DefaultChild  string            `json:"default_child,omitempty"`
	RequireOutput bool              `json:"require_output_mapping,omitempty"`
	MaxCount      int               `json:"max_count_limit,omitempty"`
}

// ChildArgs are arguments prefilled for a child tool.
type ChildArgs struct {
	Name string    `json:"name"`
	Args Arguments `json:"args,omitempty"`
}

// Valid reports whether the type is known.
func (t ToolRuleType) Valid() bool {
	switch t {
	case RuleRunFirst, RuleExitLoop, RuleContinueLoop, RuleConstrainChild, RuleConditional, RuleParentLast, RuleMaxCount,
		RuleRequiredBeforeExit, RuleRequiresApproval:
		return true
	default:
		return false
	}
}
