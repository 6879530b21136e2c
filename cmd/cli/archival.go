package cli

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"loci/daemon/api"
	"loci/daemon/client"
)

// archivalCommand is `loci archival`: the passages that an agent can search.
func (a *app) archivalCommand() *cobra.Command {
	var agent string
	c := parent(
		"archival",
		"Add to, search and edit an agent's archival memory",
		a.archivalList(
			&agent,
		),
		a.archivalAdd(&agent),
		a.archivalSearch(&agent),
		a.archivalEdit(&agent),
		a.archivalRemove(&agent),
		a.archivalHistory(&agent),
		a.archivalUndo(&agent),
		a.archivalRedo(&agent),
		a.archivalEmbedding(&agent),
		a.archivalArchives(),
		a.archivalShare(
			&agent,
			"attach",
			"Attach an archive that other agents may have, too",
			"%s now has %s",
			(*client.Client).AttachArchive,
		),
		a.archivalShare(
			&agent,
			"detach",
			"Take the archive away from the agent; the archive stays",
			"%s no longer has %s",
			(*client.Client).DetachArchive,
		),
	)
	agentFlag(c, &agent)
	return c
}

func (a *app) archivalList(agent *string) *cobra.Command {
	var limit int
	c := &cobra.Command{
		Use: "list", Short: "List passages, the newest first", Args: exactly(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, g, err := a.agentOf(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			found, err := c.Passages(cmd.Context(), g.ID, api.ListPassages{Limit: orDefault(limit, 50), Ascending: api.Given(false)})
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(found))
			}
			t := table{head: []string{"ID", "WHEN", "TAGS", "TEXT"}, single: true, spare: []string{"TAGS"}}
			for _, p := range found {
				t.add(p.ID, moment(p.CreatedAt), strings.Join(p.Tags, ","), p.Text)
			}
			return a.list(t, "there are no passages")
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (50)")
	return c
}

func (a *app) archivalAdd(agent *string) *cobra.Command {
	var tags, files []string
	c := &cobra.Command{
		Use: "add [TEXT...|-]", Short: "Add a passage: the text, or standard input; or whole files, split into passages",
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(files) > 0 {
				return a.archivalAddFiles(cmd.Context(), *agent, args, files, tags)
			}
			said, err := a.said(cmd.Context(), args)
			if err != nil {
				return err
			}
			if strings.TrimSpace(said) == "" {
				return invalid("there is no text").withHint("give it as an argument, or pipe it in")
			}
			if n := utf8.RuneCountInString(said); n > mostOfPassage {
				return invalid(
					"the text has %d characters, more than the %d of one passage",
					n,
					mostOfPassage,
				).withHint("loci archival add --file PATH makes passages of it; --file - takes standard input")
			}
			c, g, err := a.agentOf(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			made, err := c.CreatePassage(cmd.Context(), g.ID, api.CreatePassage{Text: said, Tags: tags})
			if err != nil {
				return err
			}
			if a.json {
				return writeJSON(a.out, nonNil(made))
			}
			for _, p := range made {
				if err := a.report(p, "added %s to the archival memory of %s", p.ID, g.Name); err != nil {
					return err
				}
			}
			return nil
		},
	}
	c.Flags().StringSliceVar(&tags, "tag", nil, "a tag; may be repeated")
	c.Flags().
		StringArrayVar(&files, "file", nil, "add the text of this file, split into passages at its headings and paragraphs; \"-\" is "+
			"standard input; may be repeated")
	return c
}

func (a *app) archivalSearch(agent *string) *cobra.Command {
	var limit int
	var tags []string
	var allTags bool
	var when period
	c := &cobra.Command{
		Use: "search WORDS...", Short: "Search passages, the best first", Args: atLeast("what to search for"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := searchable(args); err != nil {
				return err
			}
			from, until, err := when.bounds()
			if err != nil {
				return err
			}
			c, g, err := a.agentOf(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			q := api.SearchPassages{
				Query: api.PtrTo(
					strings.Join(args, " "),
				),
				AgentID:   &g.ID,
				Tags:      tags,
				Limit:     api.PtrTo(orDefault(limit, 10)),
				StartDate: from,
				EndDate:   until,
			}
			if allTags {
				q.TagMatchMode = api.PtrTo("all")
			}
			found, partial, err := c.SearchPassages(cmd.Context(), q)
			if err != nil {
				return err
			}
			a.noteFound(len(found), partial)
			if a.json {
				return writeJSON(a.out, nonNil(found))
			}
			t := table{head: []string{"ID", "WHEN", "TAGS", "WHY", "TEXT"}}
			for _, r := range found {
				t.add(
					r.Passage.ID,
					moment(r.Passage.CreatedAt),
					strings.Join(r.Passage.Tags, ","),
					why(r.Metadata),
					r.Passage.Text,
				)
			}
			return t.write(a.out)
		},
	}
	c.Flags().IntVar(&limit, "limit", 0, "how many at most (10)")
	c.Flags().StringSliceVar(&tags, "tag", nil, "only with this tag; may be repeated")
	c.Flags().BoolVar(&allTags, "all-tags", false, "only with all of these tags; otherwise any of them will do")
	when.add(c)
	return c
}

// why says how a result was found, the strongest reason first.
func why(metadata api.Object) string {
	var parts []string
	said := map[string]bool{}
	text := func(words any) string { // each word is said once, in its strongest place
		list, _ := words.([]any)
		var out []string
		for _, w := range list {
			if word := fmt.Sprint(w); !said[strings.ToLower(word)] {
				said[strings.ToLower(word)] = true
				out = append(out, word)
			}
		}
		return strings.Join(out, " ")
	}
	if words := text(metadata["words"]); words != "" {
		parts = append(parts, "says: "+words)
	}
	if words := text(metadata["also"]); words != "" {
		parts = append(parts, "also: "+words)
	}
	if inherited, _ := metadata["inherited"].([]any); len(inherited) > 0 {
		from, _ := inherited[0].(map[string]any)
		if words := text(from["words"]); words != "" {
			parts = append(parts, "beside: "+words)
		}
	}
	for _, k := range [][2]string{{"speaker", "who said it"}, {"date", "the day"}} {
		if metadata[k[0]] == true {
			parts = append(parts, k[1])
		}
	}
	if _, alike := metadata["vector"]; alike {
		parts = append(parts, "like in meaning")
	}
	return strings.Join(parts, "; ")
}

func (a *app) archivalEdit(agent *string) *cobra.Command {
	var tags []string
	c := &cobra.Command{
		Use:   "edit ID [TEXT...|-]",
		Short: "Replace a passage's text by this one, or by standard input; or its tags alone",
		Args:  atLeast("the passage's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if !isID(args[0], "passage") {
				return noSuch("passage", args[0], "loci archival")
			}
			var change api.UpdatePassage
			if cmd.Flags().Changed("tag") {
				change.Tags = api.Some(slices.DeleteFunc(tags, func(t string) bool { return t == "" }))
			}
			if len(args) > 1 || !change.Tags.Set {
				said, err := a.said(cmd.Context(), args[1:])
				if err != nil {
					return err
				}
				change.Text = api.Some(said)
			}
			c, g, err := a.agentOf(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			p, err := c.UpdatePassage(cmd.Context(), g.ID, args[0], change)
			if err != nil {
				return err
			}
			return a.report(p, "changed %s", p.ID)
		},
	}
	c.Flags().StringSliceVar(&tags, "tag", nil, "these tags in place of all it has, \"\" for none; may be repeated")
	return c
}

func (a *app) archivalRemove(agent *string) *cobra.Command {
	return &cobra.Command{
		Use: "rm ID...", Short: "Remove passages", Args: atLeast("the passage's id"),
		RunE: func(cmd *cobra.Command, args []string) error {
			for _, id := range args { // check all of them before removing the first
				if !isID(id, "passage") {
					return noSuch("passage", id, "loci archival")
				}
			}
			c, g, err := a.agentOf(cmd.Context(), *agent)
			if err != nil {
				return err
			}
			for _, id := range args {
				if err := c.DeletePassage(cmd.Context(), g.ID, id); err != nil {
					return err
				}
			}
			return a.report(map[string]any{"deleted": args}, "removed %s", strings.Join(args, ", "))
		},
	}
}
