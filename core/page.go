package core

// Page asks for part of a list. Cursors are exclusive ids of list entries: After means later in the requested order. An
// unknown cursor is not_found.
type Page struct {
	After, Before string
	Limit         int  // 0: the list's own default
	Desc          bool // newest first
	OrderBy       string
}

// listedAtOnce is the page size of ListAll.
const listedAtOnce = 1000

// ListAll reads a list to its end, page by page. id returns an entry's cursor.
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
