package cli

import (
	"math"

	"loci/daemon/api"
)

// listedAtOnce is how many entries of a list one request asks for.
const listedAtOnce = 1000

// listAll reads a list to its end. id returns an entry's cursor.
func listAll[T any](list func(api.Page) ([]T, error), id func(T) string) ([]T, error) {
	var all []T
	page := func(after string, n int) ([]T, error) { return list(api.Page{After: after, Limit: n}) }
	_, err := inPages(math.MaxInt, listedAtOnce, page, id, func(some []T) error { all = append(all, some...); return nil })
	return all, err
}

// inPages lists at most most entries, a page at a time, and says whether there are more.
func inPages[T any](
	most, size int,
	list func(after string, n int) ([]T, error),
	id func(T) string,
	add func([]T) error,
) (more bool, err error) {
	for after := ""; ; {
		n := size
		if most < size {
			n = most + 1 // small enough for one request, and enough to see whether there are more
		}
		page, err := list(after, n)
		if err != nil {
			return false, err
		}
		took := page[:min(len(page), most)]
		if err := add(took); err != nil {
			return false, err
		}
		if most -= len(took); len(took) < len(page) {
			return true, nil
		}
		if len(page) < n {
			return false, nil
		}
		after = id(page[len(page)-1])
	}
}
