package core

import "slices"

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

// MaxPage bounds what one list returns.
const MaxPage = 1000

// Sized fills in a list's own limit and refuses one that is out of bounds.
func (p Page) Sized(limit int) (Page, error) {
	switch {
	case p.Limit == 0:
		p.Limit = limit
	case p.Limit < 0 || p.Limit > MaxPage:
		return p, E(Invalid, "a limit must be between 1 and %d", MaxPage)
	}
	return p, nil
}

// PageOf cuts a page out of a list of ids that is whole in memory.
func PageOf[T ~string](all []T, p Page, limit int) ([]T, error) {
	p, err := p.Sized(limit)
	if err != nil {
		return nil, err
	}
	all = slices.Clone(all)
	if p.Desc {
		slices.Reverse(all)
	}
	at := func(id string) (int, error) {
		i := slices.Index(all, T(id))
		if i < 0 {
			return 0, E(NotFound, "there is no %s in this list", id)
		}
		return i, nil
	}
	from, to := 0, len(all)
	if p.After != "" {
		if from, err = at(p.After); err != nil {
			return nil, err
		}
		from++
	}
	if p.Before != "" {
		if to, err = at(p.Before); err != nil {
			return nil, err
		}
	}
	if from >= to {
		return nil, nil
	}
	return all[from:min(to, from+p.Limit)], nil
}
