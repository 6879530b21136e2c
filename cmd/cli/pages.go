package cli

import "loci/daemon/api"

// listedAtOnce is how much of a list one request asks for.
const listedAtOnce = 1000

// listAll reads a list to its end, a part at a time. id is an entry's cursor.
func listAll[T any](list func(api.Page) ([]T, error), id func(T) string) ([]T, error) {
	var all []T
	for p := (api.Page{Limit: listedAtOnce}); ; {
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
