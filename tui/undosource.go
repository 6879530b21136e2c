package tui

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	tea "charm.land/bubbletea/v2"

	"loci/daemon/api"
	"loci/tui/transcript"
)

// sourceUndo takes back what an agent wrote after reading what others wrote.
type sourceUndo interface {
	// UndoSource takes back what blocks and passages became after a source, or says what it would.
	UndoSource(ctx context.Context, agent string, in api.UndoSource) ([]api.SourceUndone, error)
}

// undoSource asks whether what came after a source is taken back, and shows what that would be.
func (tl *timeline) undoSource(source string) tea.Cmd {
	agent := tl.conv.thread.Agent
	try := func(ctx context.Context) ([]api.SourceUndone, error) {
		return tl.backend.UndoSource(ctx, agent, api.UndoSource{Source: source, DryRun: true})
	}
	return load(tl.ui, try, func(all []api.SourceUndone) tea.Cmd {
		var lines []string
		taken, stands := 0, api.SourcesOf(all)
		for i := range all {
			taken += min(all[i].Taken, 1)
			lines = append(lines, "• "+undoneSource(&all[i]))
			if diff := shortDiff(all[i].Diff); diff != "" {
				lines = append(lines, "  "+diff)
			}
		}
		name := shownSource(source)
		if len(stands) != 1 || !strings.EqualFold(stands[0], source) { // it is no source as a whole
			for i, one := range stands {
				stands[i] = shownSource(one)
			}
			lines = append([]string{"It stands for " + strings.Join(stands, ", ") + "."}, lines...)
		}
		if taken == 0 {
			tl.ui.notice("nothing that came after " + name + " can be taken back: " + strings.Join(lines, " "))
			return nil
		}
		do := func(ctx context.Context) ([]api.SourceUndone, error) {
			return tl.backend.UndoSource(ctx, agent, api.UndoSource{Source: source})
		}
		tl.ui.ask("Take back what "+tl.conv.name()+" remembers since it read "+name+"?", lines, []choice{
			{'y', "take it back; every version is kept", func() tea.Cmd {
				tl.ui.closePanels()
				return load(tl.ui, do, func(all []api.SourceUndone) tea.Cmd {
					var done []string
					for i := range all {
						done = append(done, undoneSource(&all[i]))
					}
					tl.ui.notice("taken back, after " + name + ": " + strings.Join(done, "; ") + " · /redo brings a block back")
					return nil
				})
			}},
			{'n', "leave it as it is", func() tea.Cmd { tl.ui.closePanels(); return nil }},
		})
		return nil
	})
}

// undoneSource says what becomes of one block or passage.
func undoneSource(u *api.SourceUndone) string {
	said := transcript.OneLine(transcript.Reveal(cmp.Or(api.Val(u.Label), "the passage "+api.Val(u.PassageID))))
	switch {
	case u.Taken == 0:
		said += " stays"
	case u.Deleted:
		said += " goes out of the archive"
	default:
		said += fmt.Sprintf(" is as in version %d (%s back)", api.Val(u.Restores), count(u.Taken, "version"))
	}
	if u.Kept != nil {
		said += ", for " + transcript.OneLine(transcript.Reveal(*u.Kept))
	}
	return said
}

// shownSource is a source as people read it, on one line.
func shownSource(source string) string {
	return transcript.Short(transcript.OneLine(transcript.Reveal(strings.ReplaceAll(source, "\n", ", "))), sourceMost)
}

// sourceMost bounds how much of a source is shown, in cells.
const sourceMost = 70

// afterSource says after which source a version was written; empty: after none.
func afterSource(source *string) string {
	if api.Val(source) == "" {
		return ""
	}
	return ", after it read " + shownSource(*source)
}

// sourcesOf are the sources that the newest versions of blocks came after, by the blocks' ids. A history that can't be read has
// none: it is shown elsewhere.
func (p memoryPanel) sourcesOf(ctx context.Context, blocks []api.Block) map[string]string {
	out := map[string]string{}
	for _, b := range blocks {
		versions, err := p.backend.Versions(ctx, b.ID)
		if err != nil || len(versions) == 0 {
			continue
		}
		if source := api.Val(versions[0].Source); source != "" {
			out[b.ID] = source
		}
	}
	return out
}
