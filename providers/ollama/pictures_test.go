package ollama

import (
	"testing"

	"loci/core"
)

func TestPicturesGoBesideTheText(t *testing.T) {
	t.Parallel()
	pic := core.Picture{Image: core.Image{Type: "image/png"}, Data: []byte("pixels")}
	got := messages(core.ChatRequest{Messages: []core.ChatMessage{
		{Role: core.ChatUser, Text: "look", Pictures: []core.PictureAt{{Picture: pic}}},
		{Role: core.ChatAssistant, Calls: []core.ToolCall{{ID: "c", Name: "read", Arguments: "{}"}}},
		{Role: core.ChatTool, Returns: []core.ChatReturn{{CallID: "c", Name: "read", Text: "here", Pictures: []core.Picture{pic}}}},
	}})
	if len(got) != 4 || len(got[0].Images) != 1 || string(got[0].Images[0]) != "pixels" {
		t.Fatalf("%+v", got)
	}
	if got[2].Role != "tool" || got[3].Role != "user" || len(got[3].Images) != 1 {
		t.Errorf("what a tool returned is sent as %+v", got[2:])
	}
}

func TestCapabilitiesSayWhoTakesImages(t *testing.T) {
	t.Parallel()
	for want, can := range map[core.ImageInput][]string{
		core.ImagesTaken: {"completion", "vision"}, core.ImagesRefused: {"completion", "tools"}, core.ImagesUnknown: nil,
	} {
		if got := (&Client{}).modelOf("m", &description{Capabilities: can}, nil).Images; got != want {
			t.Errorf("%v: %q", can, got)
		}
	}
}
