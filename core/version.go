package core

// VersionLink says how a version of a block or passage came about: by an edit, or by restoring an earlier version.
type VersionLink struct {
	Version  int
	Restores int // the version whose content it restored; 0: an edit
}

// VersionLine is versions as undo and redo see them: Past ends with the current state, and Future holds what was undone
// since, with the next one to redo last.
type VersionLine struct {
	Past, Future []int
	Undid        []int // for each of Future, the version that undid it
	Forgotten    bool  // what was before Past is forgotten
}

// LineOf returns the line of versions, which come oldest first. It begins behind a missing one, which was forgotten:
// nothing older takes its place.
func LineOf(links []VersionLink) VersionLine {
	l := VersionLine{Forgotten: len(links) > 0 && links[0].Version > 1}
	for i, link := range links {
		if i > 0 && link.Version != links[i-1].Version+1 {
			l = VersionLine{Forgotten: true}
		}
		p, f := len(l.Past), len(l.Future)
		switch {
		case link.Restores > 0 && p > 1 && l.Past[p-2] == link.Restores:
			l.Past, l.Future, l.Undid = l.Past[:p-1], append(l.Future, l.Past[p-1]), append(l.Undid, link.Version)
		case link.Restores > 0 && f > 0 && l.Future[f-1] == link.Restores:
			l.Past, l.Future, l.Undid = append(l.Past, l.Future[f-1]), l.Future[:f-1], l.Undid[:f-1]
		default: // an edit, or a jump to some version: what was undone before it can no longer be redone
			l.Past, l.Future, l.Undid = append(l.Past, link.Version), nil, nil
		}
	}
	return l
}
