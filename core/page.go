package core

// Page asks for a part of a list. Cursors are ids of the noun, exclusive: After means later in the requested order.
// An unknown cursor is not_found.
type Page struct {
	After, Before string
	Limit         int  // 0: the list's own default
	Desc          bool // newest first
	OrderBy       string
}

// listedAtOnce is how much of a list one part of it has.
const listedAtOnce = 1000

// ListAll reads a list to its end, a part at a time. id is an entry's cursor.
func ListAll[T any](list func(Page) ([]T, error), id func(T) string) ([]T, error) {
	var all []T
	for p := (Page{Limit: listedAtOnce}); ; {
		some, err := list(p)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
		if len(some) < p.Limit {
			return all, nil
		}
		p.After = id(some[len(some)-1])
	}
}
