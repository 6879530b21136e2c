package core

import "slices"

// VersionLink says how a version of a block or passage came about: by an edit, or by restoring an earlier version.
type VersionLink struct {
	Version  int
	Restores int      // the version whose content it restored; 0: an edit
	Rewind   RewindID // the rewind that restored it, of a block; empty: none
}

// VersionLine is versions as undo and redo see them: Past ends with the current state, and Future holds what was undone
// since, with the next one to redo last.
type VersionLine struct {
	Past, Future []int
	Undid        []int // for each of Future, the version that undid it
	Forgotten    bool  // what was before Past is forgotten
}

// LineOf returns the line of versions, which come oldest first. It begins behind a missing one, which was forgotten:
// nothing older takes its place. A rewind makes it what it was at the version that it went back to.
func LineOf(links []VersionLink) VersionLine {
	l := VersionLine{Forgotten: len(links) > 0 && links[0].Version > 1}
	top := 0                                   // the last of the past
	before, at := map[int]int{}, map[int]int{} // what comes before a version of the past, and the top after each version
	for i, link := range links {
		if i > 0 && link.Version != links[i-1].Version+1 {
			l, top = VersionLine{Forgotten: true}, 0
			clear(at)
		}
		f := len(l.Future)
		switch {
		case link.Rewind != "" && at[link.Restores] > 0:
			top, l.Future, l.Undid = at[link.Restores], nil, nil
		case link.Restores > 0 && before[top] == link.Restores:
			l.Future, l.Undid, top = append(l.Future, top), append(l.Undid, link.Version), link.Restores
		case link.Restores > 0 && f > 0 && l.Future[f-1] == link.Restores:
			l.Future, l.Undid, top = l.Future[:f-1], l.Undid[:f-1], link.Restores
		default: // an edit, or a jump to some version: what was undone before it can no longer be redone
			before[link.Version], top, l.Future, l.Undid = top, link.Version, nil, nil
		}
		at[link.Version] = top
	}
	for ; top > 0; top = before[top] {
		l.Past = append(l.Past, top)
	}
	slices.Reverse(l.Past)
	return l
}
