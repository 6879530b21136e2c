package tui

import (
	"context"
	"strconv"
	"strings"

	tea "charm.land/bubbletea/v2"
	"github.com/rivo/uniseg"

	"loci/daemon/api"
	"loci/tui/term"
	"loci/tui/transcript"
)

// passageHistory is what agents changed in their archives.
type passageHistory interface {
	// LastPassageChange returns the last change that the agent made to a passage
	// and that is in effect or, with redo, the last one that was undone.
	LastPassageChange(ctx context.Context, agent string, redo bool) (api.LastPassageChange, error)
	// UndoPassage undoes the latest change of a passage that isn't undone yet;
	// RedoPassage redoes it.
	UndoPassage(ctx context.Context, agent, passage, etag string) (api.PassageUndone, error)
	RedoPassage(ctx context.Context, agent, passage, etag string) (api.PassageUndone, error)
}

// turnPassage undoes or redoes the agent's last change of a passage, and says
// which it was. It is refused if the passage has changed since it was read.
func (tl *timeline) turnPassage(c api.LastPassageChange, redo bool) tea.Cmd {
	if c.Since != nil {
		tl.ui.notice("nothing was undone: " + tl.conv.name() + " " + passageChange(c) + ", but " + changedSince(*c.Since) +
			" · loci archival undo " + c.Edit.PassageID + " takes that back")
		return nil
	}
	agent, edit := tl.conv.thread.Agent, *c.Edit
	do := func(ctx context.Context) (api.PassageUndone, error) {
		call := tl.backend.UndoPassage
		if redo {
			call = tl.backend.RedoPassage
		}
		return call(ctx, agent, edit.PassageID, strconv.Quote(strconv.Itoa(c.Now)))
	}
	return load(tl.ui, do, func(api.PassageUndone) tea.Cmd {
		what, how := "undone: ", "/redo does it again"
		if redo {
			what, how = "done again: ", "/undo takes it back"
		}
		when := when(edit.CreatedAt.Time, tl.now()) + afterSource(edit.Source)
		tl.ui.notice(what + tl.conv.name() + " " + passageChange(c) + " in the archive, " + when + " · " + how)
		return nil
	})
}

// passageChange says what a change did.
func passageChange(c api.LastPassageChange) string {
	was, is := quotedPair(c.From.Text, c.Edit.Text)
	switch {
	case c.Edit.Deleted:
		return "deleted " + was
	case c.From.Text == c.Edit.Text:
		return "changed the tags of " + was
	}
	return "replaced " + was + " by " + is
}

// changedSince says who changed a passage later, and to what.
func changedSince(v api.PassageVersion) string {
	who := "a person"
	if v.Author == "agent" {
		who = "another agent"
	}
	if v.Deleted {
		return who + " has deleted it since"
	}
	said, _ := quotedPair(v.Text, "")
	return who + " has made it " + said + " since"
}

// quotedMost bounds how much of a passage's text is quoted, in cells.
const quotedMost = 70

// quotedPair quotes two texts in short. Where they are too long and begin
// alike, they are quoted from the last word before they differ.
func quotedPair(a, b string) (string, string) {
	a, b = transcript.OneLine(a), transcript.OneLine(b)
	lead := ""
	if b != "" && max(term.Width(a), term.Width(b)) > quotedMost {
		n := alike(a, b)
		if word := strings.LastIndexByte(a[:n], ' ') + 1; word > 0 {
			n = word
		}
		if n > 0 {
			a, b, lead = a[n:], b[n:], "…"
		}
	}
	quoted := func(s string) string { return "“" + transcript.Short(lead+s, quotedMost) + "”" }
	return quoted(a), quoted(b)
}

// alike is how many bytes two texts have in common at their beginning, in whole
// characters as people see them.
func alike(a, b string) int {
	n, state := 0, -1
	for rest := a; rest != ""; {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if !strings.HasPrefix(b[n:], cluster) {
			break
		}
		n += len(cluster)
	}
	return n
}
