package datadir

import (
	"io/fs"
	"os"
	"strings"

	"loci/core"
	"loci/storage/view"
)

// Part is files of a home that serve one purpose.
type Part struct {
	Name  string
	Bytes int64
	For   string // what they hold, and what losing them would mean
}

// Sizes says what the files of a store are for and how large they are, also while it is open elsewhere. Parts without
// files are left out.
func Sizes(dir string) ([]Part, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, core.E(core.Internal, "look at %s: %w", dir, err)
	}
	parts := []Part{
		{Name: "facts", For: "all that was said and remembered, with the vectors: the only part that a backup needs"},
		{Name: "run log", For: "events for clients that follow a run: safe to delete while the daemon is stopped"},
		{Name: "index", For: "full-text search: rebuilt from the facts if missing"},
		{Name: "vectors", For: "finds texts by their meaning: made anew from the facts when they are missing"},
		{Name: "copies", For: "the facts as they were before a migration: delete them when you no longer want to go back"},
	}
	for _, e := range entries {
		at := partOf(e.Name())
		if info, err := e.Info(); at >= 0 && err == nil { // one that is gone by now counts nothing
			parts[at].Bytes += sizeOf(info)
		}
	}
	kept := parts[:0]
	for _, p := range parts {
		if p.Bytes > 0 {
			kept = append(kept, p)
		}
	}
	return kept, nil
}

func sizeOf(info fs.FileInfo) int64 {
	if !info.Mode().IsRegular() {
		return 0
	}
	return info.Size()
}

// partOf is the number of the part that a file belongs to, -1: of none.
func partOf(name string) int {
	for i, prefix := range []string{FactsFile, EventsFile, IndexFile, view.VectorFiles, CopyPrefix} {
		if strings.HasPrefix(name, prefix) {
			return i
		}
	}
	return -1
}
