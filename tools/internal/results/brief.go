package results

import (
	"loci/core"
	"loci/core/search"
)

// mostTokens bounds a search's return for the terminal's agents: an eighth of a window of 32,000 tokens, so that an agent can
// search several times in one turn and still knows what it was asked. The characters that a call may return are far more.
const mostTokens = 4000

// Fits reports whether a return keeps to the bound.
func Fits(text string) bool { return core.EstimateTokens(text) <= mostTokens }

// LeftOut is what a search says that found more than it shows.
const LeftOut = "More were found than fit here: narrow it down by words or dates."

// Unsearched says what a search for the terminal's agents could not look at; wordsAlone, that its query has no meaning to
// compare. Empty: nothing.
func Unsearched(partial, wordsAlone bool, stalled *core.Stall) (notes []string) {
	if partial {
		notes = append(notes, Partial)
	}
	switch {
	case stalled != nil:
		notes = append(notes, "Not everything was searched by meaning: "+search.Excerpt(stalled.String(), nil, 200)+".")
	case wordsAlone:
		notes = append(notes, "The embedding model has not answered, so only words were searched, not meaning.")
	}
	return notes
}

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
