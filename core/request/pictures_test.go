package request

import (
	"context"
	"slices"
	"strings"
	"testing"

	"loci/core"
)

func shot(name string) core.Image {
	return core.Image{Hash: name, Type: "image/png", Width: 640, Height: 480, Bytes: 23_000}
}

// looking is a user message: texts, and images where a text begins with an @.
func looking(id string, parts ...string) core.InContext {
	m := core.Message{ID: core.MessageID(id), Role: core.RoleUser, Preface: "[noon]"}
	for _, p := range parts {
		if name, ok := strings.CutPrefix(p, "@"); ok {
			img := shot(name)
			m.Content = append(m.Content, core.Content{Type: core.ContentImage, Image: &img})
			continue
		}
		m.Content = append(m.Content, core.Text(p))
	}
	return core.InContext{Message: m}
}

// pieces words what a message sends.
func pieces(m core.ChatMessage) (out []string) {
	for _, p := range m.Pieces() {
		if p.Picture != nil {
			out = append(out, "@"+p.Picture.Hash)
			continue
		}
		out = append(out, p.Text)
	}
	return out
}

func TestImagesStandInTheirPlacesOfAMessage(t *testing.T) {
	t.Parallel()
	p := Parts{Rows: []core.InContext{looking("1", "First ", "@a", "then ", "@b", "which?")}}
	want := []string{"[noon]\nFirst ", "@a", "then ", "@b", "which?"}
	if got := pieces(p.Request().Messages[0]); !slices.Equal(got, want) {
		t.Errorf("%q", got)
	}
	alone := Parts{Rows: []core.InContext{looking("1", "@a")}}
	if got := pieces(alone.Request().Messages[0]); !slices.Equal(got, []string{"[noon]\n", "@a"}) {
		t.Errorf("alone: %q", got)
	}
}

func TestAModelThatTakesNoImagesReadsALineOfEach(t *testing.T) {
	t.Parallel()
	call := core.ToolCall{ID: "c", Name: "read", Arguments: "{}"}
	rows := []core.InContext{
		looking("1", "Look:", "@a"),
		{Message: core.Message{ID: "2", Role: core.RoleAssistant, Content: []core.Content{{Type: core.ContentCall, Call: &call}}}},
		{Message: core.Message{
			ID: "3", Role: core.RoleTool,
			Returns: []core.ToolReturn{{CallID: "c", Name: "read", Text: "x", Images: []core.Image{shot("b")}}},
		}},
	}
	blind := Parts{Rows: rows, Info: core.ModelInfo{Images: core.ImagesRefused, Tools: true}}
	req := blind.Request()
	const line = "[image 640x480 PNG, 23 KB; not shown: this model takes no images]"
	if m := req.Messages[0]; m.Text != "[noon]\nLook:\n"+line+"\n" || len(m.Pictures) > 0 {
		t.Errorf("a message: %q", m.Text)
	}
	if r := req.Messages[2].Returns[0]; !strings.HasSuffix(r.Text, "\n"+line) || len(r.Pictures) > 0 {
		t.Errorf("a return: %q", r.Text)
	}
	seeing := Parts{Rows: rows}
	if r := seeing.Request().Messages[2].Returns[0]; len(r.Pictures) != 1 || r.Pictures[0].Hash != "b" {
		t.Errorf("one that sees: %+v", r)
	}
}

func TestTheNewestImagesAreSentAndTheOthersLeaveTenAtATime(t *testing.T) {
	t.Parallel()
	var rows []core.InContext
	for i := range maxSent + 1 {
		rows = append(rows, looking(string(rune('A'+i)), "@x"))
	}
	sent := func(p Parts) (n int) {
		for _, m := range p.Request().Messages {
			n += len(m.Pictures)
		}
		return n
	}
	if n := sent(Parts{Rows: rows}); n != maxSent+1-sentSteps {
		t.Errorf("%d are sent", n)
	}
	if n := sent(Parts{Rows: rows[1:]}); n != maxSent {
		t.Errorf("of as many as may be, %d are sent", n)
	}
	img := shot("x")
	if n := sent(Parts{Rows: rows[:3], Window: 4 * img.Tokens()}); n >= 3 {
		t.Errorf("%d fill the window", n)
	}
	if first := (&Parts{Rows: rows}).Request().Messages[0].Text; !strings.Contains(first, core.ImageNoRoom) {
		t.Errorf("the first says %q", first)
	}
}

func TestAnImageCountsByItsSize(t *testing.T) {
	t.Parallel()
	m := looking("1", "@a").Message
	without := looking("1").Message
	img := shot("a")
	if got := Tokens(&m) - Tokens(&without); got != img.Tokens() || got < 350 || got > 450 {
		t.Errorf("%d tokens", got)
	}
}

type shelf map[string]string

func (s shelf) Put(context.Context, core.Picture) error { return nil }

func (s shelf) Get(_ context.Context, hash string) (core.Picture, error) {
	data, ok := s[hash]
	if !ok {
		return core.Picture{}, core.E(core.NotFound, "none")
	}
	return core.Picture{Image: shot(hash), Data: []byte(data)}, nil
}

func TestPicturesAreReadAndOneThatIsGoneIsSaid(t *testing.T) {
	t.Parallel()
	p := Parts{Rows: []core.InContext{looking("1", "two: ", "@a", "@gone")}}
	req := p.Request()
	if err := Fill(t.Context(), shelf{"a": "pixels"}, &req); err != nil {
		t.Fatal(err)
	}
	m := req.Messages[0]
	if len(m.Pictures) != 1 || string(m.Pictures[0].Data) != "pixels" || !strings.Contains(m.Text, core.ImageNotKept) {
		t.Errorf("%+v", m)
	}
}
