package storagetest

import (
	"strings"

	"loci/core"
)

func (h *home) counters() {
	a := h.agent("a")
	conv := core.DefaultConversation(a.ID)
	msgs := h.say(a.ID, conv, "one", "two", "three")
	hidden := h.newMessage(a.ID, conv, core.RoleUser, "secret")
	hidden.Hidden = core.HiddenBlocks
	h.ok(h.s.Messages().Insert(h.ctx, &hidden))
	equal(h, 3, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).MessageCount)
	c := must[core.Conversation](h)(h.s.Conversations().Get(h.ctx, conv))
	equal(h, 3, c.MessageCount)
	c.Rev = 5
	h.ok(h.s.Conversations().Update(h.ctx, &c))
	equal(h, 3, must[core.Conversation](h)(h.s.Conversations().Get(h.ctx, conv)).MessageCount)
	at, err := h.s.Conversations().LastMessage(h.ctx, conv)
	h.ok(err)
	equal(h, msgs[2].CreatedAt, at)
	agent := must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID))
	agent.MessageCount = 99
	h.ok(h.s.Agents().Update(h.ctx, &agent))
	equal(h, 3, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).MessageCount)
	twice := msgs[0]
	fresh := h.newMessage(a.ID, conv, core.RoleUser, "four")
	h.kind(core.Conflict, h.s.Messages().Insert(h.ctx, &fresh, &twice))
	equal(h, 3, must[core.Conversation](h)(h.s.Conversations().Get(h.ctx, conv)).MessageCount)
	for i, m := range must[[]core.Message](h)(h.s.Messages().List(h.ctx, core.MessageFilter{Agent: a.ID}, core.Page{})) {
		if i > 0 && m.Seq <= msgs[i-1].Seq {
			h.Fatalf("seq %d behind %d", m.Seq, msgs[i-1].Seq)
		}
	}
	h.ok(h.s.Conversations().MarkStale(h.ctx, a.ID))
	if !must[core.Conversation](h)(h.s.Conversations().Get(h.ctx, conv)).Stale {
		h.Fatal("not stale")
	}
}

func (h *home) contextRule() {
	a := h.agent("a")
	conv := core.DefaultConversation(a.ID)
	zero := h.newMessage(a.ID, conv, core.RoleSystem, "system")
	h.ok(h.s.Messages().Insert(h.ctx, &zero))
	h.ok(h.s.Messages().EnterFirst(h.ctx, conv, 1, zero.ID))
	msgs := h.say(a.ID, conv, "evicted", "compacted", "reset", "rewound", "open")
	leave := func(i int, why core.LeftWhy) {
		h.Helper()
		h.ok(h.s.Messages().Leave(h.ctx, conv, 10, why, []core.MessageID{msgs[i].ID}))
	}
	leave(0, core.LeftEviction)
	leave(1, core.LeftCompaction)
	leave(2, core.LeftReset)
	leave(3, core.LeftRewind)
	hidden := h.newMessage(a.ID, conv, core.RoleUser, "hidden")
	hidden.Hidden = core.HiddenMarker
	h.ok(h.s.Messages().Insert(h.ctx, &hidden))
	h.ok(h.s.Messages().Enter(h.ctx, conv, 11, []core.MessageID{hidden.ID}, nil))
	list := func(p core.Page) []string {
		h.Helper()
		return texts(must[[]core.Message](h)(h.s.Messages().List(h.ctx, core.MessageFilter{Conversation: conv}, p)))
	}
	equal(h, []string{"system", "evicted", "compacted", "open"}, list(core.Page{}))
	equal(h, []string{"compacted", "open"}, list(core.Page{Desc: true, Limit: 2}))
	equal(h, []core.MessageID{zero.ID, msgs[4].ID}, must[[]core.MessageID](h)(h.s.Messages().ContextIDs(h.ctx, conv)))
	var window []string
	for _, c := range must[[]core.InContext](h)(h.s.Messages().Context(h.ctx, conv)) {
		window = append(window, c.Message.PlainText())
	}
	equal(h, []string{"system", "open", "hidden"}, window) // hidden ones are sent
	// A rewind that is taken back opens a new row: the message shows again, behind what came before.
	h.ok(h.s.Messages().Enter(h.ctx, conv, 12, []core.MessageID{msgs[3].ID}, nil))
	equal(h, []string{"system", "evicted", "compacted", "open", "rewound"}, list(core.Page{}))
	h.kind(core.Conflict, h.s.Messages().Enter(h.ctx, conv, 13, []core.MessageID{msgs[3].ID}, nil))
	// Another conversation may share messages; its own message 0 comes first all the same.
	fork := h.conversation(a.ID, core.NewConversationID())
	own := h.newMessage(a.ID, fork.ID, core.RoleSystem, "fork's system")
	h.ok(h.s.Messages().Insert(h.ctx, &own))
	h.ok(h.s.Messages().EnterFirst(h.ctx, fork.ID, 1, own.ID))
	h.ok(h.s.Messages().Enter(h.ctx, fork.ID, 1, []core.MessageID{msgs[4].ID}, nil))
	equal(
		h,
		[]string{"fork's system", "open"},
		texts(must[[]core.Message](h)(h.s.Messages().List(h.ctx, core.MessageFilter{Conversation: fork.ID}, core.Page{}))),
	)
	h.ok(h.s.Conversations().Delete(h.ctx, fork.ID))
	equal(h, 0, len(must[[]core.Message](h)(h.s.Messages().List(h.ctx, core.MessageFilter{Conversation: fork.ID}, core.Page{}))))
}

func (h *home) contextAt() {
	a := h.agent("a")
	conv := core.DefaultConversation(a.ID)
	msgs := h.say(a.ID, conv, "one", "two", "three")
	h.ok(h.s.Messages().Leave(h.ctx, conv, 4, core.LeftEviction, []core.MessageID{msgs[0].ID}))
	long := h.newMessage(a.ID, conv, core.RoleUser, "long")
	h.ok(h.s.Messages().Insert(h.ctx, &long))
	h.ok(h.s.Messages().Enter(h.ctx, conv, 5, []core.MessageID{long.ID}, map[core.MessageID]int{long.ID: 2}))
	for rev, want := range [][]string{{}, {"one"}, {"one", "two"}, {"one", "two", "three"}, {"two", "three"}, {"two", "three", "long"}} {
		got := []string{}
		for _, c := range must[[]core.InContext](h)(h.s.Messages().ContextAt(h.ctx, conv, rev)) {
			got = append(got, c.Message.PlainText())
		}
		equal(h, want, got)
	}
	now := must[[]core.InContext](h)(h.s.Messages().Context(h.ctx, conv))
	equal(h, core.ContextRow{Conversation: conv, Message: long.ID, Position: 4, Entered: 5, CutTo: 2}, now[2].Row)
	before := must[[]core.InContext](h)(h.s.Messages().ContextAt(h.ctx, conv, 1))
	equal(
		h,
		core.ContextRow{Conversation: conv, Message: msgs[0].ID, Position: 1, Entered: 1, Left: 4, Why: core.LeftEviction},
		before[0].Row,
	)
	equal(h, msgs[0].Tokens, before[0].Message.Tokens)
	h.ok(h.s.Messages().SetText(h.ctx, long.ID, "replaced"))
	equal(
		h,
		"replaced",
		texts(must[[]core.Message](h)(h.s.Messages().List(h.ctx, core.MessageFilter{Agent: a.ID}, core.Page{Desc: true, Limit: 1})))[0],
	)
}

func (h *home) messageCursors() {
	a := h.agent("a")
	conv := core.DefaultConversation(a.ID)
	msgs := h.say(a.ID, conv, "1", "2", "3", "4", "5")
	for _, f := range []core.MessageFilter{{Agent: a.ID}, {Conversation: conv}} {
		for _, c := range []struct {
			page core.Page
			want string
		}{
			{core.Page{}, "1 2 3 4 5"},
			{core.Page{Limit: 2}, "1 2"},
			{core.Page{Limit: 2, Desc: true}, "4 5"},
			{core.Page{After: string(msgs[1].ID)}, "3 4 5"},
			{core.Page{After: string(msgs[1].ID), Desc: true}, "3 4 5"},
			{core.Page{After: string(msgs[0].ID), Desc: true, Limit: 2}, "4 5"},
			{core.Page{Before: string(msgs[3].ID), Desc: true, Limit: 2}, "2 3"},
			{core.Page{Before: string(msgs[3].ID), Limit: 2}, "1 2"},
			{core.Page{After: string(msgs[0].ID), Before: string(msgs[4].ID)}, "2 3 4"},
		} {
			got := texts(must[[]core.Message](h)(h.s.Messages().List(h.ctx, f, c.page)))
			if strings.Join(got, " ") != c.want {
				h.Errorf("%+v %+v: %v, want %s", f, c.page, got, c.want)
			}
		}
	}
	failed := h.newMessage(a.ID, conv, core.RoleAssistant, "broken")
	failed.IsError, failed.Run, failed.Step = true, "run-x", "step-x"
	h.ok(h.s.Messages().Insert(h.ctx, &failed))
	list := func(f core.MessageFilter) string {
		h.Helper()
		return strings.Join(texts(must[[]core.Message](h)(h.s.Messages().List(h.ctx, f, core.Page{}))), " ")
	}
	equal(h, "1 2 3 4 5", list(core.MessageFilter{Agent: a.ID}))
	equal(h, "broken", list(core.MessageFilter{Run: "run-x", IncludeErr: true}))
	equal(h, "broken", list(core.MessageFilter{Step: "step-x", IncludeErr: true}))
	equal(h, "2 4", list(core.MessageFilter{Roles: []core.Role{core.RoleAssistant}}))
	equal(h, "2 3", list(core.MessageFilter{From: msgs[1].CreatedAt, Until: msgs[3].CreatedAt}))
}

func (h *home) conversationLists() {
	a, b := h.agent("a"), h.agent("b")
	one, two := h.conversation(a.ID, core.NewConversationID()), h.conversation(a.ID, core.NewConversationID())
	other := h.conversation(b.ID, core.NewConversationID())
	list := func(f core.ConversationFilter, p core.Page) []core.ConversationID {
		h.Helper()
		out := []core.ConversationID{}
		for _, c := range must[[]core.Conversation](h)(h.s.Conversations().List(h.ctx, f, p)) {
			out = append(out, c.ID)
		}
		return out
	}
	equal(h, []core.ConversationID{one.ID, two.ID, other.ID}, list(core.ConversationFilter{}, core.Page{}))
	equal(h, []core.ConversationID{one.ID}, list(core.ConversationFilter{Agent: a.ID}, core.Page{Desc: true, After: string(two.ID)}))
	one.Summary = "About Lakes"
	h.ok(h.s.Conversations().Update(h.ctx, &one))
	equal(h, []core.ConversationID{one.ID}, list(core.ConversationFilter{SummarySearch: "lake"}, core.Page{}))
	h.say(a.ID, one.ID, "newest")
	equal(h, []core.ConversationID{one.ID}, list(core.ConversationFilter{}, core.Page{OrderBy: "last_message_at", Desc: true, Limit: 1}))
	two.Hidden = true
	h.ok(h.s.Conversations().Update(h.ctx, &two))
	equal(h, []core.ConversationID{one.ID}, list(core.ConversationFilter{Agent: a.ID}, core.Page{}))
	equal(h, []core.ConversationID{one.ID, two.ID}, list(core.ConversationFilter{Agent: a.ID, Hidden: true}, core.Page{}))
	h.ok(h.s.Conversations().Delete(h.ctx, one.ID))
	equal(h, []core.ConversationID{}, list(core.ConversationFilter{Agent: a.ID}, core.Page{}))
	equal(h, 0, must[core.Agent](h)(h.s.Agents().Get(h.ctx, a.ID)).MessageCount)
	h.kind(core.NotFound, h.s.Conversations().Update(h.ctx, &one))
}

func (h *home) requests() {
	a, b := h.agent("a"), h.agent("b")
	r := h.run(a.ID, "hash")
	again := core.Run{
		ID:           core.NewRunID(),
		Agent:        a.ID,
		Conversation: core.DefaultConversation(a.ID),
		Status:       core.RunCreated,
		Request:      "hash",
	}
	h.kind(core.Conflict, h.s.Runs().Create(h.ctx, &again))
	found, ok, err := h.s.Runs().FindRequest(h.ctx, core.DefaultConversation(a.ID), "hash")
	h.ok(err)
	if !ok || found.ID != r.ID {
		h.Fatalf("found %v %s", ok, found.ID)
	}
	h.run(b.ID, "hash") // another conversation
	h.run(a.ID, "")
	h.run(a.ID, "") // no request, no conflict
	r.Request = ""
	h.ok(h.s.Runs().Update(h.ctx, &r))
	h.ok(h.s.Runs().Create(h.ctx, &again))
	if _, ok, err := h.s.Runs().FindRequest(h.ctx, core.DefaultConversation(a.ID), ""); ok || err != nil {
		h.Fatal("the empty request is somebody's")
	}
}

func (h *home) runLists() {
	a, b := h.agent("a"), h.agent("b")
	r1, r2, r3 := h.run(a.ID, ""), h.run(b.ID, ""), h.run(a.ID, "")
	if r1.Number >= r2.Number || r2.Number >= r3.Number {
		h.Fatalf("numbers %d %d %d", r1.Number, r2.Number, r3.Number)
	}
	yes := true
	r3.Status, r3.StopReason, r3.Background = core.RunCompleted, core.StopEndTurn, true
	h.ok(h.s.Runs().Update(h.ctx, &r3))
	list := func(f core.RunFilter, p core.Page) []core.RunID {
		h.Helper()
		out := []core.RunID{}
		for _, r := range must[[]core.Run](h)(h.s.Runs().List(h.ctx, f, p)) {
			out = append(out, r.ID)
		}
		return out
	}
	equal(h, []core.RunID{r3.ID, r2.ID, r1.ID}, list(core.RunFilter{}, core.Page{Desc: true}))
	equal(h, []core.RunID{r2.ID, r1.ID}, list(core.RunFilter{}, core.Page{Desc: true, After: string(r3.ID)}))
	equal(h, []core.RunID{r1.ID, r3.ID}, list(core.RunFilter{Agents: []core.AgentID{a.ID}}, core.Page{}))
	equal(h, []core.RunID{r3.ID}, list(core.RunFilter{Statuses: []core.RunStatus{core.RunCompleted}}, core.Page{}))
	equal(h, []core.RunID{r3.ID}, list(core.RunFilter{StopReason: core.StopEndTurn}, core.Page{}))
	equal(h, []core.RunID{r3.ID}, list(core.RunFilter{Background: &yes}, core.Page{}))
	equal(h, []core.RunID{r2.ID}, list(core.RunFilter{Conversation: core.DefaultConversation(b.ID)}, core.Page{}))
	unfinished := must[[]core.Run](h)(h.s.Runs().Unfinished(h.ctx))
	if len(unfinished) != 2 || unfinished[0].ID != r1.ID {
		h.Fatalf("unfinished %+v", unfinished)
	}
	st := core.Step{ID: core.NewStepID(), Run: r1.ID, Agent: a.ID, CreatedAt: h.tick()}
	h.ok(h.s.Steps().Create(h.ctx, &st))
	h.ok(h.s.Runs().Delete(h.ctx, r1.ID))
	_, err := h.s.Runs().Get(h.ctx, r1.ID)
	h.kind(core.NotFound, err)
	_, err = h.s.Steps().Get(h.ctx, st.ID)
	h.kind(core.NotFound, err)
}

func (h *home) usage() {
	a := h.agent("a")
	r := h.run(a.ID, "")
	cached := 3
	for i, u := range []*core.Usage{{Prompt: 10, Completion: 1, Total: 11}, nil, {Prompt: 5, Completion: 2, Total: 7, Cached: &cached}} {
		st := core.Step{ID: core.NewStepID(), Run: r.ID, Agent: a.ID, Number: i + 1, Usage: u, Model: "p/m", CreatedAt: h.tick()}
		if i == 0 {
			st.Feedback, st.Tags = "positive", []string{"short", "kind"}
		}
		h.ok(h.s.Steps().Create(h.ctx, &st))
	}
	u, n, err := h.s.Runs().Usage(h.ctx, r.ID)
	h.ok(err)
	equal(h, core.Usage{Prompt: 15, Completion: 3, Total: 18, Cached: &cached}, u)
	equal(h, 3, n)
	yes := true
	for _, f := range []core.StepFilter{{Feedback: "positive"}, {HasFeedback: &yes}, {Tags: []string{"none", "kind"}}} {
		equal(h, 1, len(must[[]core.Step](h)(h.s.Steps().List(h.ctx, f, core.Page{}))))
	}
	all := must[[]core.Step](h)(h.s.Steps().List(h.ctx, core.StepFilter{Run: r.ID, Model: "p/m"}, core.Page{Desc: true}))
	if len(all) != 3 || all[0].Number != 3 {
		h.Fatalf("steps %+v", all)
	}
}

func (h *home) match(q string, f core.MessageFilter) []core.MessageHit {
	h.Helper()
	return must[core.Results[core.MessageHit]](h)(Search(h.s).Messages(h.ctx, core.SearchQuery{Text: q}, f)).Hits
}

func (h *home) searchFresh() {
	a := h.agent("a")
	conv := core.DefaultConversation(a.ID)
	ar := h.archive("ar")
	for i := range 20 {
		text := "note " + strings.Repeat("x", i+1) + "q about compilers"
		h.say(a.ID, h.conversation(a.ID, core.NewConversationID()).ID, text)
		equal(h, []string{text}, hits(h.match(strings.Repeat("x", i+1)+"q", core.MessageFilter{Agent: a.ID})))
		p := h.passage(ar.ID, text)
		found := must[core.Results[core.PassageHit]](
			h,
		)(
			Search(h.s).Passages(h.ctx, core.SearchQuery{Text: strings.Repeat("x", i+1) + "q"}, core.PassageFilter{}),
		).Hits
		if len(found) != 1 || found[0].Passage.ID != p.ID {
			h.Fatalf("%d passages", len(found))
		}
	}
	m := h.say(a.ID, conv, "My bicycles are blue")[0]
	got := h.match("which bicycle?", core.MessageFilter{Agent: a.ID})
	if len(got) != 1 || got[0].Message.ID != m.ID || got[0].Score <= 0 {
		h.Fatalf("hits %+v", got)
	}
	equal(h, []string{"bicycles"}, got[0].Words)
	h.ok(h.s.Messages().SetText(h.ctx, m.ID, "My umbrellas are green"))
	equal(h, 0, len(h.match("bicycle", core.MessageFilter{Agent: a.ID})))
	equal(h, []string{"My umbrellas are green"}, hits(h.match("umbrella", core.MessageFilter{Agent: a.ID})))
	p := h.passage(ar.ID, "old words")
	p.Text = "fresh words"
	h.ok(h.s.Passages().Update(h.ctx, &p, core.Author{}))
	for q, want := range map[string]int{"old": 0, "fresh": 1} {
		equal(
			h,
			want,
			len(must[core.Results[core.PassageHit]](h)(Search(h.s).Passages(h.ctx, core.SearchQuery{Text: q}, core.PassageFilter{})).Hits),
		)
	}
}

func (h *home) searchVisible() {
	a, gone := h.agent("a"), h.agent("gone")
	conv := core.DefaultConversation(a.ID)
	msgs := h.say(a.ID, conv, "zebra open", "zebra evicted", "zebra reset", "zebra rewound")
	other := h.conversation(a.ID, core.NewConversationID())
	h.say(a.ID, other.ID, "zebra deleted conversation")
	h.say(gone.ID, core.DefaultConversation(gone.ID), "zebra deleted agent")
	for _, m := range []core.Message{
		{Role: core.RoleUser, Hidden: core.HiddenRecall, Joins: msgs[0].ID, Content: []core.Content{core.Text("zebra hidden")}},
		{Role: core.RoleSystem, Content: []core.Content{core.Text("zebra system")}},
		{Role: core.RoleTool, Content: []core.Content{core.Text("zebra tool")}, Returns: []core.ToolReturn{{Text: "zebra return"}}},
	} {
		m.ID, m.Agent, m.Conversation, m.CreatedAt = core.NewMessageID(), a.ID, conv, h.tick()
		h.ok(h.s.Messages().Insert(h.ctx, &m))
	}
	equal(h, 6, len(h.match("zebra", core.MessageFilter{})))
	hidden := must[[]core.Message](h)(h.s.Messages().List(h.ctx, core.MessageFilter{Agent: a.ID, Hidden: core.HiddenRecall}, core.Page{}))
	if len(hidden) != 1 || hidden[0].PlainText() != "zebra hidden" || hidden[0].Joins != msgs[0].ID {
		h.Errorf("the records of what was recalled are %+v", hidden)
	}
	h.ok(h.s.Messages().Leave(h.ctx, conv, 9, core.LeftEviction, []core.MessageID{msgs[1].ID}))
	h.ok(h.s.Messages().Leave(h.ctx, conv, 9, core.LeftReset, []core.MessageID{msgs[2].ID}))
	h.ok(h.s.Messages().Leave(h.ctx, conv, 9, core.LeftRewind, []core.MessageID{msgs[3].ID}))
	h.ok(h.s.Conversations().Delete(h.ctx, other.ID))
	h.ok(h.s.Agents().Delete(h.ctx, gone.ID))
	equal(h, []string{"zebra evicted", "zebra open"}, hits(h.match("zebra", core.MessageFilter{})))
	equal(h, []string{"zebra evicted", "zebra open"}, hits(h.match("", core.MessageFilter{}))) // the newest
	h.ok(h.s.Messages().Enter(h.ctx, conv, 10, []core.MessageID{msgs[3].ID}, nil))
	equal(h, []string{"zebra evicted", "zebra open", "zebra rewound"}, hits(h.match("zebra", core.MessageFilter{})))
	equal(h, []string{}, hits(h.match("zebra", core.MessageFilter{Roles: []core.Role{core.RoleTool}})))
	spoken := core.Message{
		ID:           core.NewMessageID(),
		Agent:        a.ID,
		Conversation: conv,
		Role:         core.RoleAssistant,
		CreatedAt:    h.tick(),
		Content: []core.Content{
			{Type: core.ContentReasoning, Text: "giraffe thoughts"},
			{Type: core.ContentCall, Call: &core.ToolCall{ID: "1", Name: "send_message", Arguments: `{"message":"a spoken elephant"}`}},
		},
	}
	h.ok(h.s.Messages().Insert(h.ctx, &spoken))
	if got := h.match("elephant", core.MessageFilter{}); len(got) == 0 || got[0].Message.ID != spoken.ID || len(got[0].Why.Inherited) > 0 {
		h.Errorf("what was said through a tool is not found first: %+v", got)
	}
	equal(h, 0, len(h.match("giraffe", core.MessageFilter{})))
}

func (h *home) searchFilter() {
	a, b := h.agent("a"), h.agent("b")
	conv := h.conversation(a.ID, core.NewConversationID())
	msgs := h.say(a.ID, core.DefaultConversation(a.ID), "lake one", "lake two")
	h.say(a.ID, conv.ID, "lake thread")
	h.say(b.ID, core.DefaultConversation(b.ID), "lake other agent")
	equal(h, []string{"lake one", "lake thread", "lake two"}, hits(h.match("lake", core.MessageFilter{Agent: a.ID})))
	equal(h, []string{"lake thread"}, hits(h.match("lake", core.MessageFilter{Agent: a.ID, Conversation: conv.ID})))
	equal(h, []string{"lake one", "lake two"}, hits(h.match("lake", core.MessageFilter{Conversation: core.DefaultConversation(a.ID)})))
	equal(h, []string{"lake two"}, hits(h.match("lake", core.MessageFilter{Agent: a.ID, Roles: []core.Role{core.RoleAssistant}})))
	equal(h, []string{"lake one"}, hits(h.match("lake", core.MessageFilter{From: msgs[0].CreatedAt, Until: msgs[1].CreatedAt})))
	ar, other := h.archive("ar"), h.archive("other")
	h.passage(ar.ID, "lake p1", "x", "y")
	h.passage(ar.ID, "lake p2", "x")
	h.passage(other.ID, "lake p3")
	for _, c := range []struct {
		f    core.PassageFilter
		want int
	}{
		{core.PassageFilter{}, 3},
		{core.PassageFilter{Archives: []core.ArchiveID{ar.ID}}, 2},
		{core.PassageFilter{Archives: []core.ArchiveID{ar.ID, other.ID}}, 3},
		{core.PassageFilter{Tags: []string{"x", "y"}}, 2},
		{core.PassageFilter{Tags: []string{"x", "y"}, AllTags: true}, 1},
	} {
		for _, q := range []string{"lake", ""} {
			equal(h, c.want, len(must[core.Results[core.PassageHit]](h)(Search(h.s).Passages(h.ctx, core.SearchQuery{Text: q}, c.f)).Hits))
		}
	}
	equal(
		h,
		1,
		len(
			must[core.Results[core.PassageHit]](
				h,
			)(
				Search(h.s).Passages(h.ctx, core.SearchQuery{Text: "lake", Limit: 1}, core.PassageFilter{}),
			).Hits,
		),
	)
}

func (h *home) searchAnyText() {
	a := h.agent("a")
	for _, text := range []string{`quoted "lake" near`, "東京タワー", "plain lake"} { // apart: nothing is inherited
		h.say(a.ID, h.conversation(a.ID, core.NewConversationID()).ID, text)
	}
	for q, want := range map[string]int{
		`"lake" OR (`: 2, `lake*`: 2, `body : lake`: 2, `NEAR(lake`: 2, `lake AND NOT lake`: 2, `'; DROP TABLE docs`: 0, "東京": 1,
		"\x00lake\xff":                       2,
		strings.Repeat("word lake ", 12_000): 2, "": 3, `"""`: 0, "^": 0, `"`: 1,
	} {
		got := h.match(q, core.MessageFilter{Agent: a.ID})
		if len(got) != want {
			h.Errorf("%.40q: %d hits, want %d", q, len(got), want)
		}
	}
}
