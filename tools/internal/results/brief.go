package results

import "loci/core"

// mostTokens bounds a search's return for the terminal's agents: an eighth of a window of 32,000 tokens, so that an agent can
// search several times in one turn and still knows what it was asked. The characters that a call may return are far more.
const mostTokens = 4000

// Fits reports whether a return keeps to the bound.
func Fits(text string) bool { return core.EstimateTokens(text) <= mostTokens }

// The notes of a search for the terminal's agents.
const (
	WordsAlone = "The embedding model has not answered, so only words were searched, not meaning."
	LeftOut    = "More were found than fit here: narrow it down by words or dates."
)

// Reason says in a few words why something was found, if its text doesn't show it; otherwise it is empty. before and after
// are the ids of its neighbours in the conversation, if it has any.
func Reason(words []string, why core.Why, before, after string) string {
	switch {
	case len(words) > 0:
		return ""
	case len(why.Also) > 0 || why.Vector > 0:
		return "by meaning"
	case why.Date:
		return "by its date"
	case why.Speaker:
		return "by who said it"
	case len(why.Inherited) == 0:
		return ""
	case why.Inherited[0].From == before:
		return "by what was said before"
	case why.Inherited[0].From == after:
		return "by what was said after"
	}
	return "by what was said near it"
}
