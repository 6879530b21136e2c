package anthropic_test

import (
	"strings"
	"testing"

	"loci/core"
	"loci/providers/anthropic"
	"loci/providers/providertest"
)

func TestImagesStandWhereTheyWereSaidAndBehindWhatToolsReturned(t *testing.T) {
	t.Parallel()
	s := claude(t, providertest.Turn{Text: "ok"})
	client := newClient(t, s, "k", anthropic.Quirks{})
	png := core.Picture{Image: core.Image{Type: "image/png", Width: 1, Height: 1, Bytes: 3}, Data: []byte("abc")}
	req := described(t, client, providertest.Ask("claude-opus-5-5", "first  then"))
	req.Messages[0].Pictures = []core.PictureAt{{Picture: png, At: 6}}
	asked := providertest.Answer{Calls: []core.ToolCall{{ID: "a", Name: "clock"}}}
	req.Messages = append(req.Messages, providertest.Continue(asked, "noon")...)
	req.Messages[2].Returns[0].Pictures = []core.Picture{png}
	if _, err := providertest.Collect(t.Context(), t, client, req); err != nil {
		t.Fatal(err)
	}
	const image = `{"type":"image","source":{"type":"base64","media_type":"image/png","data":"YWJj"}}`
	body := string(s.Last().Body)
	for _, want := range []string{
		`{"type":"text","text":"first "},` + image + `,{"type":"text","text":" then","cache_control":{"type":"ephemeral"}}`,
		`"content":[{"type":"text","text":"noon"},` + image + `]`,
	} {
		if !strings.Contains(body, want) {
			t.Errorf("no %s in %s", want, body)
		}
	}
	list, err := client.List(t.Context())
	if err != nil || list.Models[0].Images != core.ImagesTaken {
		t.Errorf("%+v, %v", list.Models[0], err)
	}
}
