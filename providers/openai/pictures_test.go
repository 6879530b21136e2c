package openai

import (
	"encoding/json"
	"strings"
	"testing"

	"loci/core"
)

// shown is a conversation with a picture in what a user said, and one in what a tool returned.
func shown() []core.ChatMessage {
	pic := core.Picture{Image: core.Image{Type: "image/png", Detail: "low"}, Data: []byte("pixels")}
	return []core.ChatMessage{
		{Role: core.ChatUser, Text: "before after", Pictures: []core.PictureAt{{Picture: pic, At: len("before ")}}},
		{Role: core.ChatAssistant, Calls: []core.ToolCall{{ID: "c1", Name: "read"}}},
		{Role: core.ChatTool, Returns: []core.ChatReturn{{CallID: "c1", Name: "read", Text: "here", Pictures: []core.Picture{pic}}}},
	}
}

const uri = "data:image/png;base64,cGl4ZWxz"

func TestChatSendsPicturesInTheirPlaces(t *testing.T) {
	t.Parallel()
	b := chatBuilder{req: core.ChatRequest{Messages: shown()}, set: map[string]any{}}
	b.build()
	got, err := json.Marshal(b.out)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`{"role":"user","content":[{"type":"text","text":"before "},{"type":"image_url","image_url":{"url":"` + uri +
			`","detail":"low"}},{"type":"text","text":"after"}]}`,
		`{"role":"tool","content":"here","tool_call_id":"c1"},{"role":"user","content":[{"type":"text","text":"`, // tools return texts only
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
}

func TestResponsesSendsPicturesInTheirPlaces(t *testing.T) {
	t.Parallel()
	got, err := json.Marshal(responsesInput(shown()))
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{
		`"content":[{"type":"input_text","text":"before "},{"type":"input_image","image_url":"` + uri + `","detail":"low"},`,
		`"output":[{"type":"input_text","text":"here"},{"type":"input_image","image_url":"` + uri + `","detail":"low"}]`,
	} {
		if !strings.Contains(string(got), want) {
			t.Errorf("there is no %s in\n%s", want, got)
		}
	}
}

func TestAListingSaysWhoTakesImages(t *testing.T) {
	t.Parallel()
	for row, want := range map[string]core.ImageInput{
		`{"id":"m","architecture":{"input_modalities":["text","image"]}}`: core.ImagesTaken,
		`{"id":"m","architecture":{"input_modalities":["text"]}}`:         core.ImagesRefused,
		`{"id":"m","capabilities":{"vision":true}}`:                       core.ImagesTaken,
		`{"id":"m","capabilities":{"vision":false}}`:                      core.ImagesRefused,
		`{"id":"m","capabilities":["chat","vision"]}`:                     core.ImagesTaken,
		`{"id":"m","supports_image_input":true}`:                          core.ImagesTaken,
		`{"id":"m","capabilities":["chat"]}`:                              core.ImagesUnknown,
		`{"id":"m"}`:                                                      core.ImagesUnknown,
	} {
		e, ok := parseEntry(json.RawMessage(row))
		if got := e.images(e.capabilities()); !ok || got != want {
			t.Errorf("%s: %q", row, got)
		}
	}
}
