package providers

import (
	"strings"
	"testing"
	"time"

	"loci/core"
	"loci/providers/facts"
	"loci/providers/internal/wire"
)

func TestWithoutImagesALineStandsInThePlaceOfEach(t *testing.T) {
	t.Parallel()
	p := core.Picture{Image: core.Image{Type: "image/png", Width: 4, Height: 3, Bytes: 2048}, Data: []byte("pixels")}
	req := core.ChatRequest{Messages: []core.ChatMessage{
		{Role: core.ChatUser, Text: "before after", Pictures: []core.PictureAt{{Picture: p, At: len("before ")}}},
		{Role: core.ChatTool, Returns: []core.ChatReturn{{CallID: "c", Text: "shot", Pictures: []core.Picture{p}}}},
	}}
	if !hasImages(req) {
		t.Fatal("the request holds no images")
	}
	got := withoutImages(req)
	line := p.StandIn(core.ImageUnseen)
	if hasImages(got) || got.Messages[0].Text != "before "+line+"\nafter" || got.Messages[1].Returns[0].Text != "shot\n"+line {
		t.Errorf("%+v", got.Messages)
	}
	if !hasImages(req) || req.Messages[1].Returns[0].Text != "shot" {
		t.Error("the request itself was changed")
	}
}

func TestAModelThatRefusedImagesIsRememberedForAWhile(t *testing.T) {
	t.Parallel()
	var l refusalMemory
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	l.noImages("m", "no", now)
	if !l.imageless("m", now.Add(time.Minute)) || l.imageless("m", now.Add(wire.RefusalFresh)) || l.imageless("other", now) {
		t.Error("a refusal counts for its model, for a while")
	}
	if said := withoutImagesWords("It does not take images."); !strings.Contains(said, "asked without images for up to 10 minutes") {
		t.Errorf("it says %q", said)
	}
}

func TestFamiliesThatSeeAreKnown(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]core.ImageInput{
		"gpt-4o-mini": core.ImagesTaken, "o3": core.ImagesTaken, "o3-mini": core.ImagesRefused, "claude-sonnet-4-5": core.ImagesTaken,
		"openai/gpt-oss-20b": core.ImagesRefused, "deepseek-chat": core.ImagesRefused, "my-finetune": core.ImagesUnknown,
	} {
		f, _ := facts.Family(name)
		if got := f.Images(); got != want {
			t.Errorf("%s: %q", name, got)
		}
	}
}
