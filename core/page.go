package core

// Page asks for a part of a list. Cursors are ids of the noun, exclusive: After means later in the requested order.
// An unknown cursor is not_found.
type Page struct {
	After, Before string
	Limit         int  // 0: the list's own default
	Desc          bool // newest first
	OrderBy       string
}
