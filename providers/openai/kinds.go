package openai

import (
	"encoding/json"
	"slices"
	"strings"
	"unicode"

	"loci/core"
)

// otherTypes are the types of listed models that don't chat.
var otherTypes = []string{
	"embedding", "embeddings", "image", "image_generation", "video", "audio", "audio_speech", "audio_transcription", "speech", "tts", "stt",
	"transcribe", "transcription", "rerank", "reranker", "moderation", "language", "code", "completion",
}

// Words in the names of models that don't chat. Only whole words count: my-guardian-7b isn't a guard. What embeds or ranks
// says so whatever else its name says; the other words don't count beside "chat".
var (
	rankWords  = []string{"rerank", "reranker"}
	embedWords = []string{"embed", "embedding", "embeddings", "bge"}
	otherWords = []string{"whisper", "tts", "moderation", "dall", "transcribe", "sora", "davinci", "babbage"}
)

// chatWords are the words for chat in a list of capabilities.
var chatWords = []string{
	"chat",
	"chat_completion",
	"chat-completion",
	"chat-completions",
	"completion",
	"completions",
	"generate",
	"text-generation",
}

// capability is what a row says its model can do, in whatever form; nil means not said.
type capability struct {
	tools, chat *bool
	images      core.ImageInput
	reasoning   bool
	embeds      bool
}

// capabilities reads an object of flags or a list of words.
func (e entry) capabilities() capability {
	var flags struct {
		Tools *bool `json:"function_calling"`
		Chat  *bool `json:"completion_chat"`
		Sees  *bool `json:"vision"`
	}
	if json.Unmarshal(e.Capabilities, &flags) == nil {
		can := capability{tools: flags.Tools, chat: flags.Chat}
		if flags.Sees != nil {
			can.images = core.ImagesIf(*flags.Sees)
		}
		return can
	}
	var words []string
	if json.Unmarshal(e.Capabilities, &words) != nil {
		return capability{}
	}
	has := func(any ...string) bool {
		return slices.ContainsFunc(words, func(w string) bool { return slices.Contains(any, strings.ToLower(w)) })
	}
	can := capability{reasoning: has("reasoning", "thinking"), embeds: has("embedding", "embeddings", "embed")}
	if has("tools", "tool_use", "tool-use", "function_calling", "function-calling", "tool_calling", "tool-calling") {
		can.tools = new(true) // a list that lacks the word may just not know it
	}
	if has("vision", "image_input", "image-input", "multimodal") {
		can.images = core.ImagesTaken
	}
	if has(chatWords...) {
		can.chat = new(true)
	} else if can.embeds || has("rerank", "image-generation", "image_generation", "speech", "transcription", "moderation") {
		can.chat = new(false)
	}
	return can
}

// images says whether a model takes images, as far as its row does.
func (e entry) images(can capability) core.ImageInput {
	switch {
	case e.Architecture != nil && len(e.Architecture.Input) > 0:
		return core.ImagesIf(slices.Contains(e.Architecture.Input, "image"))
	case e.TakesImages != nil:
		return core.ImagesIf(*e.TakesImages)
	}
	return can.images
}

// hidden says why a model can't chat ("" if it can or nothing suggests otherwise) and whether it embeds.
func (e entry) hidden(can capability) (why string, embeds bool) {
	kind := strings.ToLower(e.Type)
	if kind == "" || kind == "model" {
		kind = strings.ToLower(e.Mode)
	}
	embeds = can.embeds || strings.HasPrefix(kind, "embedding")
	switch {
	case e.Active != nil && !*e.Active:
		return "it is not active", false
	case strings.HasPrefix(kind, "embedding") || slices.Contains(otherTypes, kind):
		return "it is listed as " + kind, embeds
	case e.Architecture != nil && len(e.Architecture.Output) > 0 && !slices.Contains(e.Architecture.Output, "text"):
		gives := e.Architecture.Output
		return "it gives " + strings.Join(gives, " and ") + ", no text", embeds || slices.Contains(gives, "embeddings")
	case can.chat != nil && !*can.chat:
		return "its capabilities leave out chatting", embeds
	case can.chat != nil && *can.chat || kind != "" && kind != "model": // declared to chat: its name doesn't matter
		return "", embeds
	}
	words := strings.FieldsFunc(strings.ToLower(e.ID), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) })
	says := func(any []string) (string, bool) {
		at := slices.IndexFunc(words, func(w string) bool { return slices.Contains(any, w) })
		if at < 0 {
			return "", false
		}
		return "its name says " + words[at], true
	}
	if why, ok := says(rankWords); ok {
		return why, false
	}
	if why, ok := says(embedWords); ok {
		return why, true
	}
	if slices.Contains(words, "chat") {
		return "", embeds
	}
	why, _ = says(otherWords)
	return why, embeds
}

// ownChat reports whether a model in OpenAI's own listing chats: the listing has only names.
func ownChat(id string) bool {
	if !strings.HasPrefix(id, "gpt-") && !strings.HasPrefix(id, "chatgpt-") && !Reasons(id) {
		return false
	}
	return !slices.ContainsFunc(
		[]string{"instruct", "audio", "realtime", "image", "search", "transcribe", "tts"},
		func(word string) bool { return strings.Contains(id, word) },
	)
}
