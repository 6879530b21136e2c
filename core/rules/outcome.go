package rules

import (
	"fmt"
	"slices"
	"strings"

	"loci/core"
)

// Outcome says whether the turn goes on after a response.
type Outcome struct {
	Continue bool
	Stop     core.StopReason // why it ends; empty while it goes on
	Missing  []string        // required tools not called yet, which keep the turn going
	Failed   bool            // the turn goes on because a call failed or was refused
}

// Alert returns what to tell a model that tried to end its turn too early; empty if nothing is missing.
func (o Outcome) Alert() string {
	if len(o.Missing) == 0 {
		return ""
	}
	return fmt.Sprintf("Your turn cannot end yet: first call %s.", strings.Join(o.Missing, ", "))
}

// Done is a call of the response with its return.
type Done struct {
	Return    core.ToolReturn
	Heartbeat bool // request_heartbeat was set
}

// AfterText returns the outcome of a response without a call.
func (s *State) AfterText(finish core.Finish) Outcome {
	switch {
	case finish == core.FinishLength:
		return Outcome{Stop: core.StopMaxTokensExceeded}
	case !s.in.Policy.TextEnds:
		return Outcome{Stop: core.StopNoToolCall}
	default:
		return s.end(core.StopEndTurn, nil)
	}
}

// AfterCalls returns the outcome of a response with calls, once they have returned. A call that failed or was refused
// never ends a turn, because the model must be able to read why.
func (s *State) AfterCalls(done []Done) Outcome {
	failed, heartbeat, bound := false, false, false
	for _, d := range done {
		if d.Return.IsError {
			failed = true
			continue
		}
		if s.terminal(d.Return.Name) {
			return s.end(s.terminalStop(d), done)
		}
		heartbeat = heartbeat || d.Heartbeat
		bound = bound || s.has(core.RuleContinueLoop, d.Return.Name) || s.has(core.RuleConstrainChild, d.Return.Name) ||
			s.has(core.RuleConditional, d.Return.Name)
	}
	if s.in.Policy.Heartbeats && !failed && !heartbeat && !bound {
		return s.end(core.StopEndTurn, done)
	}
	if s.in.StepsLeft <= 0 {
		return Outcome{Stop: core.StopMaxSteps}
	}
	return Outcome{Continue: true, Failed: failed}
}

// terminalStop returns the stop reason that the contract gives agents with heartbeats.
func (s *State) terminalStop(d Done) core.StopReason {
	if s.in.Policy.Heartbeats && !d.Heartbeat {
		return core.StopEndTurn
	}
	return core.StopToolRule
}

// end ends the turn, unless a required tool hasn't been called and there is a step left for it.
func (s *State) end(reason core.StopReason, done []Done) Outcome {
	if missing := s.missing(done); len(missing) > 0 && s.in.StepsLeft > 0 {
		return Outcome{Continue: true, Missing: missing}
	}
	return Outcome{Stop: reason}
}

// missing returns the required tools called neither in the history nor in this response.
func (s *State) missing(done []Done) []string {
	var names []string
	for _, r := range s.in.Rules {
		if r.Type != core.RuleRequiredBeforeExit || !s.attached[r.Tool] || slices.Contains(names, r.Tool) {
			continue
		}
		// One that a person denied counts: else the turn could end in nothing but the same question.
		called := slices.ContainsFunc(s.in.History, func(c core.ToolReturn) bool { return c.Name == r.Tool && !Refused(c) }) ||
			slices.ContainsFunc(done, func(d Done) bool { return d.Return.Name == r.Tool && !Refused(d.Return) })
		if !called {
			names = append(names, r.Tool)
		}
	}
	return names
}
