package server

import (
	"bytes"
	"context"
	"encoding/base64"
	"image"
	"image/png"
	"net/http"
	"strings"
	"testing"

	"loci/core"
	"loci/daemon/api"
)

// pngOf is a PNG of a size.
func pngOf(t *testing.T, w, h int) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := png.Encode(&b, image.NewGray(image.Rect(0, 0, w, h))); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// saying is a model that always says the same.
func saying(text string) answers {
	return func(context.Context, int, core.ChatRequest) []any { return []any{text} }
}

// lastRequest is what the model was last asked.
func (f *fixture) lastRequest() core.ChatRequest {
	f.t.Helper()
	f.model.mu.Lock()
	defer f.model.mu.Unlock()
	if len(f.model.requests) == 0 {
		f.t.Fatal("the model was not asked")
	}
	return f.model.requests[len(f.model.requests)-1]
}

// shownAs is a message of a user with an image between two texts.
func shownAs(source map[string]any) map[string]any {
	return map[string]any{"messages": []any{map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "text", "text": "Look: "},
		map[string]any{"type": "image", "source": source},
		map[string]any{"type": "text", "text": "what is it?"},
	}}}}
}

func inBase64(data []byte) map[string]any {
	return map[string]any{"type": "base64", "media_type": "image/png", "data": base64.StdEncoding.EncodeToString(data)}
}

// userContent is the content of the newest message of a user.
func userContent(t *testing.T, msgs []api.Message) api.Content {
	t.Helper()
	for i := len(msgs) - 1; i >= 0; i-- {
		if msgs[i].MessageType == api.MessageUser {
			return msgs[i].Content
		}
	}
	t.Fatal("no user spoke")
	return api.Content{}
}

func TestAnImageIsSentToTheModelAndListedAsItCame(t *testing.T) {
	t.Parallel()
	f := newFixture(t, saying("A square."))
	agent, data := f.agent(nil).ID, pngOf(t, 64, 48)
	f.call("POST", "/v1/agents/"+agent+"/messages", shownAs(inBase64(data))).want(http.StatusOK)
	sent := f.lastRequest().Messages
	m := sent[len(sent)-1]
	if len(m.Pictures) != 1 || !bytes.Equal(m.Pictures[0].Data, data) || m.Text[:m.Pictures[0].At] == m.Text ||
		!strings.HasSuffix(m.Text[:m.Pictures[0].At], "Look: ") {
		t.Fatalf("the model was sent %q with %d pictures", m.Text, len(m.Pictures))
	}
	parts := userContent(t, f.messages(agent)).Parts
	if len(parts) != 3 || parts[0].Text != "Look: " || parts[1].Type != api.PartImage || parts[2].Text != "what is it?" {
		t.Fatalf("listed as %+v", parts)
	}
	src := parts[1].Source
	if src.Type != "letta" || src.Data != base64.StdEncoding.EncodeToString(data) || src.MediaType != "image/png" || src.About != "" {
		t.Errorf("the image is listed as %+v", src)
	}
	// The name is good for another message, and the bytes are kept once.
	f.call("POST", "/v1/agents/"+agent+"/messages", shownAs(map[string]any{"type": "letta", "file_id": src.FileID})).want(http.StatusOK)
	sent = f.lastRequest().Messages
	if again := sent[len(sent)-1]; len(again.Pictures) != 1 || !bytes.Equal(again.Pictures[0].Data, data) {
		t.Error("an image that is named by its id is not sent")
	}
}

func TestAnImageAloneIsAMessage(t *testing.T) {
	t.Parallel()
	f := newFixture(t, saying("A square."))
	agent := f.agent(nil).ID
	f.call("POST", "/v1/agents/"+agent+"/messages", map[string]any{"messages": []any{map[string]any{"role": "user", "content": []any{
		map[string]any{"type": "image", "source": inBase64(pngOf(t, 5, 5))},
	}}}}).want(http.StatusOK)
	if parts := userContent(t, f.messages(agent)).Parts; len(parts) != 1 || parts[0].Type != api.PartImage {
		t.Errorf("listed as %+v", parts)
	}
}

func TestImagesThatCannotBeTakenAreRefusedInASentence(t *testing.T) {
	t.Parallel()
	f := newFixture(t, saying("Never."))
	agent := f.agent(nil).ID
	for name, c := range map[string]struct {
		source map[string]any
		status int
		says   string
	}{
		"no image": {inBase64([]byte("hello")), http.StatusBadRequest, "no PNG, JPEG, GIF or WebP"},
		"no base64": {
			map[string]any{"type": "base64", "media_type": "image/png", "data": "%%%"}, http.StatusUnprocessableEntity, "base64",
		},
		"a foreign id": {
			map[string]any{"type": "letta", "file_id": "file-1"}, http.StatusUnprocessableEntity, "no image of this server",
		},
		"an unknown id":   {map[string]any{"type": "letta", "file_id": "image-" + strings.Repeat("a", 64)}, http.StatusNotFound, "image"},
		"a local address": {map[string]any{"type": "url", "url": "http://127.0.0.1:1/x.png"}, http.StatusForbidden, "this machine"},
		"a file":          {map[string]any{"type": "url", "url": "file:///etc/passwd"}, http.StatusBadRequest, "https://"},
	} {
		r := f.call("POST", "/v1/agents/"+agent+"/messages", shownAs(c.source)).want(c.status)
		if !strings.Contains(r.detail(), c.says) {
			t.Errorf("%s: %q", name, r.detail())
		}
	}
	many := shownAs(inBase64(pngOf(t, 2, 2)))
	first := many["messages"].([]any)[0].(map[string]any)
	for range core.MaxImages {
		first["content"] = append(first["content"].([]any), map[string]any{"type": "image", "source": inBase64(pngOf(t, 2, 2))})
	}
	f.call("POST", "/v1/agents/"+agent+"/messages", many).want(http.StatusRequestEntityTooLarge)
}

func TestAModelThatTakesNoImagesRefusesTheMessageBeforeItIsStored(t *testing.T) {
	t.Parallel()
	f := newFixture(t, saying("Never."))
	agent := f.agent(nil).ID
	f.model.blind.Store(true)
	before := len(f.messages(agent))
	r := f.call("POST", "/v1/agents/"+agent+"/messages", shownAs(inBase64(pngOf(t, 5, 5))))
	if r.status != http.StatusBadRequest || !strings.Contains(r.detail(), "test/model takes no images") {
		t.Errorf("%d: %s", r.status, r.body)
	}
	if after := len(f.messages(agent)); after != before {
		t.Errorf("%d messages were stored", after-before)
	}
}

func TestImagesOfAThreadAreALineForAModelThatTakesNone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, saying("Yes."))
	agent := f.agent(nil).ID
	f.call("POST", "/v1/agents/"+agent+"/messages", shownAs(inBase64(pngOf(t, 5, 5)))).want(http.StatusOK)
	f.model.blind.Store(true)
	f.call("POST", "/v1/agents/"+agent+"/messages", text("And now?")).want(http.StatusOK)
	found := false
	for _, m := range f.lastRequest().Messages {
		if len(m.Pictures) > 0 {
			t.Error("a picture was sent")
		}
		found = found || strings.Contains(m.Text, core.ImageUnseen)
	}
	if !found {
		t.Error("nothing tells of the image")
	}
}
