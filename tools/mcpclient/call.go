package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
	"loci/tools/internal/plaintext"
)

// Bounds of a result.
const (
	mostText   = 48_000 // characters: with its mark fewer than those at which returns of tools are cut
	mostImages = 8
	mostParts  = 200
)

// unsure is said of a call that broke off.
const unsure = "It may or may not have done what it was called for; it was not called again"

// Call implements core.MCPClient.
func (m *Manager) Call(ctx context.Context, to core.MCPTarget, call core.MCPCall) (core.ToolResult, error) {
	s, err := m.take(ctx, to)
	if err != nil {
		return core.ToolResult{}, err
	}
	defer m.release(s)
	select {
	case s.slots <- struct{}{}:
		defer func() { <-s.slots }()
	case <-ctx.Done():
		return core.ToolResult{}, context.Cause(ctx)
	}
	s.budget.renew()
	if err := s.current(ctx); err != nil {
		return core.ToolResult{}, err
	}
	offer, ok := s.offer(call.Remote)
	switch {
	case !ok:
		return core.ToolResult{}, core.E(core.Gone, "the server %s has no tool %s any more", to.Server.Name, plain(call.Remote, 100))
	case offer.Hash != call.Hash:
		return core.ToolResult{}, core.E(core.Conflict, "the server %s describes %s otherwise than a person accepted it",
			to.Server.Name, plain(call.Remote, 100)).WithHint("loci mcp test %s", to.Server.Name)
	}
	result, err := s.call(ctx, call)
	if s.changed.Load() { // before anything is asked about the next call
		_ = s.current(ctx) // if it does not say, the next call says so
	}
	return result, err
}

// current makes sure that what is known of the server's tools is what it says now, and tells who keeps it.
func (s *session) current(ctx context.Context) error {
	if s.changed.Swap(false) {
		s.told.Store(false)
		if err := s.relist(ctx); err != nil {
			return err
		}
	}
	if s.m.cfg.Listed != nil && !s.renewed.Load() && !s.told.Swap(true) { // what is renewed has nothing new to say
		s.m.cfg.Listed(ctx, s.to.Server.ID, s.listing())
	}
	return nil
}

// call calls a tool and waits for what it returns, no longer than a call may take. A server that does not stop then is ended.
func (s *session) call(ctx context.Context, call core.MCPCall) (core.ToolResult, error) {
	limit := s.m.cfg.Times.Call
	within, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	defer context.AfterFunc(s.ctx, cancel)() // nothing comes any more
	result, err := s.asked(call)(within)
	switch {
	case err == nil && result != nil:
		return s.result(ctx, result, call)
	case ctx.Err() != nil:
		return core.ToolResult{}, context.Cause(ctx)
	case s.ctx.Err() != nil:
		err = context.Cause(s.ctx)
	case within.Err() != nil:
		s.stop(core.E(core.Timeout, "it hangs")) // whatever it does meanwhile is of no use to anybody
		return core.ToolResult{}, core.E(core.Timeout, "the server %s did not answer within %s. %s", s.to.Server.Name, limit, unsure)
	}
	return s.broken(call, err)
}

// broken is what is said of a call that brought no result.
func (s *session) broken(call core.MCPCall, err error) (core.ToolResult, error) {
	var said *jsonrpc.Error
	if errors.As(err, &said) && said.Code != jsonrpc.CodeParseError { // which the library says of what is no message
		text := fmt.Sprintf("%s (code %d)", paragraph(said.Message, mostSaid), said.Code)
		return s.foreign(call, "The server answered with an error:", text, true), nil
	}
	var ours *core.Error
	if s.budget.flooded() {
		return core.ToolResult{}, core.E(core.TooLarge, "the server %s says far more than it is asked for, and was ended. %s",
			s.to.Server.Name, unsure)
	}
	if errors.As(err, &ours) {
		return core.ToolResult{}, core.E(ours.Kind, "%s. %s", ours.Error(), unsure).WithHint("%s", core.HintOf(err))
	}
	s.stop(core.E(core.Unavailable, "it broke off"))
	how := "broke off (" + plain(err.Error(), 200) + ")"
	select {
	case <-s.over:
		if s.how != "" {
			how = s.how
		}
	case <-time.After(s.m.cfg.Times.Grace):
	}
	why := core.E(core.Unavailable, "the server %s %s while the call ran. %s", s.to.Server.Name, how, unsure)
	return core.ToolResult{}, s.withLog(why)
}

// foreign is a result that holds what the server said.
func (s *session) foreign(call core.MCPCall, head, text string, failed bool) core.ToolResult {
	source := core.SourceName("MCP server " + s.to.Server.Name + ", tool " + call.Remote)
	if text = strings.TrimSpace(text); text == "" {
		text = "It returned nothing."
	} else {
		text = core.Foreign(source, text)
	}
	if head != "" {
		text = head + "\n" + text
	}
	return core.ToolResult{Text: text, IsError: failed, Source: source}
}

// result is what the model reads of a call: texts joined, images behind them, and what else there is told of.
func (s *session) result(ctx context.Context, r *mcp.CallToolResult, call core.MCPCall) (core.ToolResult, error) {
	c := contents{ctx: ctx, call: call}
	for i, part := range r.Content {
		if i == mostParts {
			c.note("%d more parts are left out", len(r.Content)-mostParts)
			break
		}
		if err := c.add(part); err != nil {
			return core.ToolResult{}, err
		}
	}
	if len(r.Content) == 0 && r.StructuredContent != nil {
		text, err := json.MarshalIndent(r.StructuredContent, "", "  ")
		if err == nil {
			c.say(string(text))
		}
	}
	head := ""
	if r.IsError {
		head = "Error executing function " + call.Remote + ":"
	}
	out := s.foreign(call, plain(head, 200), strings.Join(c.texts, "\n"), r.IsError)
	if len(c.notes) > 0 {
		out.Text += "\n(" + strings.Join(c.notes, "; ") + ")"
	}
	out.Images = c.images
	return out, nil
}

// contents collects the parts of a result.
type contents struct {
	ctx    context.Context
	call   core.MCPCall
	texts  []string
	chars  int
	cut    bool
	notes  []string
	images []core.Picture
}

func (c *contents) note(format string, args ...any) {
	c.notes = append(c.notes, fmt.Sprintf(format, args...))
}

// say adds a text, as far as there is room.
func (c *contents) say(text string) {
	text = plaintext.Of(text)
	room := mostText - c.chars
	if n := utf8.RuneCountInString(text); n > room {
		if !c.cut {
			c.note("its text is cut: more than %d characters are not read", mostText)
		}
		c.cut = true
		text = string([]rune(text)[:room])
	}
	if text != "" {
		c.chars += utf8.RuneCountInString(text)
		c.texts = append(c.texts, text)
	}
}

func (c *contents) add(part mcp.Content) error {
	switch p := part.(type) {
	case *mcp.TextContent:
		c.say(p.Text)
	case *mcp.ImageContent:
		return c.image(p.MIMEType, p.Data)
	case *mcp.AudioContent:
		c.note("a sound of %d KB (%s) is left out", kilobytes(p.Data), plain(p.MIMEType, 60))
	case *mcp.ResourceLink:
		c.say("[resource " + plain(p.URI, 500) + " " + plain(p.Name, 200) + "]")
	case *mcp.EmbeddedResource:
		switch {
		case p.Resource == nil:
		case len(p.Resource.Blob) > 0:
			c.note("the resource %s of %d KB (%s) is left out", plain(p.Resource.URI, 200), kilobytes(p.Resource.Blob),
				plain(p.Resource.MIMEType, 60))
		default:
			c.say("[resource " + plain(p.Resource.URI, 500) + "]\n" + p.Resource.Text)
		}
	default:
		c.note("a part of a kind that is not known is left out")
	}
	return nil
}

func kilobytes(data []byte) int { return (len(data) + 1023) >> 10 }

// image adds an image, if it is one and there is room for it.
func (c *contents) image(kind string, data []byte) error {
	what := fmt.Sprintf("an image of %d KB (%s)", kilobytes(data), plain(kind, 60))
	switch {
	case c.call.Pictures == nil || !c.call.Sees:
		c.note("%s is not shown: this model takes no images", what)
		return nil
	case len(c.images) == mostImages:
		c.note("%s is left out: %d are shown", what, mostImages)
		return nil
	case len(data) > core.MaxImageBytes:
		c.note("%s is left out: it is too large", what)
		return nil
	}
	p, err := c.call.Pictures.Read(c.ctx, data)
	switch {
	case err == nil:
		c.images = append(c.images, p)
	case c.ctx.Err() != nil:
		return context.Cause(c.ctx)
	default:
		c.note("%s can't be read as one", what)
	}
	return nil
}
