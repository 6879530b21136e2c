package openai

import (
	"context"
	"net/http"
	"strings"
	"time"

	"loci/core"
	"loci/providers/internal/wire"
)

// completesWithin is how long a server may take to say whether it completes texts.
const completesWithin = 2 * time.Second

// chatless are words by which servers say that a model, or they themselves, can't chat.
var chatless = [...]string{
	"not a chat model", "does not support chat completions", "doesn't support chat completions",
	"chat completions api is not supported", "chat template is no longer allowed", "must provide a chat template",
	"no chat template", "chat_template is not set", "without a chat template",
}

// withoutChat explains a refusal where the server, or what it runs, only completes texts; it returns any other as it is.
func (c *Client) withoutChat(ctx context.Context, status int, err *core.Error) *core.Error {
	missing := status == http.StatusNotFound || status == http.StatusMethodNotAllowed || status == http.StatusNotImplemented
	switch {
	case status == 0:
		return err
	case wire.Says(strings.ToLower(err.Msg), chatless[:]...):
	case missing && err.Kind == core.Invalid && c.completes(ctx):
	default:
		return err
	}
	e := c.who.E(core.Invalid, "%s only completes texts: it has no chat, and so no tools (%s)", c.opts.Provider, c.opts.BaseURL)
	return e.WithHint("start one that chats, with a model that is made for it: `vllm serve MODEL` (with --chat-template FILE), " +
		"`llama-server -m MODEL.gguf --jinja`, or `ollama run MODEL`")
}

// completes reports whether the server has the older operation. What it is sent is no request, so that nothing is made of it.
func (c *Client) completes(ctx context.Context) bool {
	ctx, cancel := context.WithTimeout(ctx, completesWithin)
	defer cancel()
	status := 0
	calls := wire.NewCaller(c.opts)
	calls.Refused = func(s int, header http.Header, said []byte) *core.Error {
		status = s
		return c.who.Status(s, header, said)
	}
	_, err := calls.Exchange(ctx, http.MethodPost, "/completions", nil, []byte("{}"))
	return err == nil || status == http.StatusBadRequest || status == http.StatusUnprocessableEntity
}
