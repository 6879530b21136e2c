package storagetest

import (
	"context"
	"reflect"
	"slices"
	"testing"
	"time"

	"loci/core"
	"loci/core/search"
)

// Store is what the suite tests: facts, and what search reads of them.
type Store interface {
	core.Store
	search.Index
}

// Run runs the conformance suite: what every implementation promises. open returns an empty store that
// is closed with the test.
func Run(t *testing.T, open func(t *testing.T) Store) {
	t.Helper()
	for _, c := range []struct {
		name string
		run  func(h *home)
	}{
		{"every field of every noun survives", (*home).everyField},
		{"agents are found by their filters and pages", (*home).agentLists},
		{"equal timestamps do not confuse a cursor", (*home).stableCursors},
		{"an unknown cursor is not found", (*home).unknownCursor},
		{"a missing noun is not found", (*home).missing},
		{"a deleted agent is gone everywhere at once", (*home).deletedAgent},
		{"block versions are kept and stale writers refused", (*home).blockVersions},
		{"a deleted block comes back with a version of its own", (*home).revivedBlocks},
		{"labels are unique among an agent's blocks", (*home).labels},
		{"blocks are found by their filters", (*home).blockLists},
		{"counters follow the messages that are not hidden", (*home).counters},
		{"a list shows what left by eviction and not what was reset", (*home).contextRule},
		{"the context of an earlier rev can be read again", (*home).contextAt},
		{"a restored context shows what it showed, and is taken back the same way", (*home).restoredContext},
		{"a message of a fork outlives the conversation it came from", (*home).forkedMessages},
		{"message cursors mean newer and older", (*home).messageCursors},
		{"conversations are listed without the default ones", (*home).conversationLists},
		{"a request that was accepted is not accepted again", (*home).requests},
		{"runs are listed in the order of acceptance", (*home).runLists},
		{"usage sums the steps of a run", (*home).usage},
		{"snapshots are written once and come back whole", (*home).snapshots},
		{"an agent has at most one archive", (*home).archives},
		{"passages are counted, tagged and filtered", (*home).passages},
		{"folders are found, attached and gone", (*home).folders},
		{"every field of a file survives", (*home).everyFieldOfFiles},
		{"files are found by their filters and counted", (*home).fileLists},
		{"the chunks of a file are what it says now", (*home).fileChunks},
		{"archives of folders are no archival memory", (*home).folderArchives},
		{"chunks of a file inherit nothing from each other", (*home).proseChunks},
		{"files are complete when all their chunks have vectors", (*home).settledFiles},
		{"an agent's open files are kept, the last used first", (*home).openedFiles},
		{"a file is taken back with its transaction", (*home).takenBackFiles},
		{"a point in the past knows its passages", (*home).rewoundPassages},
		{"passages keep their versions and come back from them", (*home).passageVersions},
		{"a point in the past knows who changed a passage since", (*home).turnedPassages},
		{"a folder remembers its agent", (*home).workspaces},
		{"what is known of files and what changed them is kept", (*home).workspaceFiles},
		{"images are kept once, while something holds them", (*home).images},
		{"a mirror knows its files and notices every change of a block", (*home).mirrors},
		{"variables are kept by their names and go with their agent", (*home).variables},
		{"providers are kept by their names", (*home).providers},
		{"tools are kept whole, one of each name", (*home).tools},
		{"servers of tools are kept with what they offer", (*home).mcpServers},
		{"what models cost is added up, and budgets are kept", (*home).expenses},
		{"an error rolls back its transaction and a nested one its part", (*home).transactions},
		{"search reads its own writes", (*home).searchFresh},
		{"search finds nothing hidden, reset, deleted or of tools", (*home).searchVisible},
		{"search keeps to its filter", (*home).searchFilter},
		{"search takes any text", (*home).searchAnyText},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			c.run(&home{T: t, s: open(t), ctx: t.Context(), now: time.Date(2026, 3, 1, 12, 0, 0, 123000, time.UTC)})
		})
	}
}

// home is a store under test with makers of nouns.
type home struct {
	*testing.T
	s   Store
	ctx context.Context
	now time.Time
}

// tick returns a time later than all before.
func (h *home) tick() time.Time {
	h.now = h.now.Add(time.Second)
	return h.now
}

func (h *home) ok(err error) {
	h.Helper()
	if err != nil {
		h.Fatalf("error: %v", err)
	}
}

// kind checks what went wrong.
func (h *home) kind(want core.Kind, err error) {
	h.Helper()
	if core.KindOf(err) != want {
		h.Fatalf("error of kind %q (%v), want %q", core.KindOf(err), err, want)
	}
}

func equal[T any](h *home, want, got T) {
	h.Helper()
	if !reflect.DeepEqual(want, got) {
		h.Fatalf("got  %+v\nwant %+v", got, want)
	}
}

func must[T any](h *home) func(v T, err error) T {
	return func(v T, err error) T {
		h.Helper()
		h.ok(err)
		return v
	}
}

func (h *home) agent(name string, tags ...string) core.Agent {
	h.Helper()
	at := h.tick()
	a := core.Agent{
		ID:        core.NewAgentID(),
		Name:      name,
		Type:      core.AgentLettaV1,
		Model:     core.OfflineHandle,
		Tags:      tags,
		CreatedAt: at,
		UpdatedAt: at,
	}
	h.ok(h.s.Agents().Create(h.ctx, &a))
	h.conversation(a.ID, core.DefaultConversation(a.ID))
	return a
}

func (h *home) conversation(a core.AgentID, id core.ConversationID) core.Conversation {
	h.Helper()
	at := h.tick()
	c := core.Conversation{ID: id, Agent: a, CreatedAt: at, UpdatedAt: at}
	h.ok(h.s.Conversations().Create(h.ctx, &c))
	return c
}

func (h *home) newMessage(a core.AgentID, c core.ConversationID, role core.Role, text string) core.Message {
	return core.Message{
		ID: core.NewMessageID(), Agent: a, Conversation: c, Role: role, Content: []core.Content{core.Text(text)}, CreatedAt: h.tick(),
		Tokens: core.EstimateTokens(text),
	}
}

// say stores messages of the roles and lets each enter the context at a rev of its own, from 1 on.
func (h *home) say(a core.AgentID, c core.ConversationID, texts ...string) []core.Message {
	h.Helper()
	var out []core.Message
	for i, text := range texts {
		role := core.RoleUser
		if i%2 == 1 {
			role = core.RoleAssistant
		}
		m := h.newMessage(a, c, role, text)
		h.ok(h.s.Messages().Insert(h.ctx, &m))
		h.ok(h.s.Messages().Enter(h.ctx, c, i+1, []core.MessageID{m.ID}, nil))
		out = append(out, m)
	}
	return out
}

func (h *home) block(label, value string) core.Block {
	h.Helper()
	at := h.tick()
	b := core.Block{ID: core.NewBlockID(), Label: label, Value: value, Limit: 1000, CreatedAt: at, UpdatedAt: at}
	h.ok(h.s.Blocks().Create(h.ctx, &b, core.Author{Kind: core.AuthorUser}))
	return b
}

func (h *home) run(a core.AgentID, request string) core.Run {
	h.Helper()
	r := core.Run{
		ID:           core.NewRunID(),
		Agent:        a,
		Conversation: core.DefaultConversation(a),
		Status:       core.RunCreated,
		Request:      request,
		CreatedAt:    h.tick(),
	}
	h.ok(h.s.Runs().Create(h.ctx, &r))
	return r
}

func (h *home) archive(name string) core.Archive {
	h.Helper()
	at := h.tick()
	a := core.Archive{ID: core.NewArchiveID(), Name: name, CreatedAt: at, UpdatedAt: at}
	h.ok(h.s.Archives().Create(h.ctx, &a))
	return a
}

func (h *home) passage(a core.ArchiveID, text string, tags ...string) core.Passage {
	h.Helper()
	at := h.tick()
	p := core.Passage{ID: core.NewPassageID(), Archive: a, Text: text, Tags: tags, CreatedAt: at, UpdatedAt: at}
	h.ok(h.s.Passages().Insert(h.ctx, &p))
	return p
}

func names(list []core.Agent) []string {
	out := []string{}
	for _, a := range list {
		out = append(out, a.Name)
	}
	return out
}

func texts(list []core.Message) []string {
	out := []string{}
	for _, m := range list {
		out = append(out, m.PlainText())
	}
	return out
}

func sorted(list []string) []string {
	slices.Sort(list)
	return list
}

func hits(list []core.MessageHit) []string {
	out := []string{}
	for _, m := range list {
		out = append(out, m.Message.PlainText())
	}
	slices.Sort(out)
	return out
}

// fill sets every exported field that is still zero, so that a field that the store forgets cannot pass unnoticed.
func fill(v reflect.Value) {
	switch v.Kind() { //nolint:exhaustive // the nouns have no other kinds
	case reflect.String:
		if v.String() == "" {
			v.SetString("x")
		}
	case reflect.Bool:
		v.SetBool(true)
	case reflect.Int, reflect.Int64:
		if v.Int() == 0 {
			v.SetInt(7)
		}
	case reflect.Float64:
		v.SetFloat(0.5)
	case reflect.Pointer:
		v.Set(reflect.New(v.Type().Elem()))
		fill(v.Elem())
	case reflect.Slice:
		if v.Type().Elem().Kind() == reflect.Uint8 {
			v.SetBytes([]byte(`{"a":1}`))
			return
		}
		if v.Len() == 0 {
			v.Set(reflect.MakeSlice(v.Type(), 1, 1))
		}
		fill(v.Index(0))
	case reflect.Map:
		m := reflect.MakeMap(v.Type())
		key, val := reflect.New(v.Type().Key()).Elem(), reflect.New(v.Type().Elem()).Elem()
		fill(key)
		fill(val)
		m.SetMapIndex(key, val)
		v.Set(m)
	case reflect.Interface:
		v.Set(reflect.ValueOf("any"))
	case reflect.Struct:
		fillStruct(v)
	default: // functions stay nil: they are not stored
	}
}

func fillStruct(v reflect.Value) {
	if t, ok := v.Addr().Interface().(*time.Time); ok {
		if t.IsZero() {
			*t = time.Date(2026, 2, 3, 4, 5, 6, 789000, time.UTC)
		}
		return
	}
	for i := range v.NumField() {
		if v.Type().Field(i).IsExported() {
			fill(v.Field(i))
		}
	}
}

func filled[T any](v T) T {
	fill(reflect.ValueOf(&v).Elem())
	return v
}
