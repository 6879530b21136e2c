package ollama

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
)

var _ protocol.Puller = (*Client)(nil)

// mostLayers bounds the parts of a model whose sizes are added up.
const mostLayers = 1000

// Pull implements protocol.Puller. The server keeps what it has downloaded when it is left, and goes on from there.
func (c *Client) Pull(ctx context.Context, name string, told func(core.Pulled) bool) error {
	body, err := wire.Encode(map[string]any{"model": name, "stream": true})
	if err != nil {
		return c.who.E(core.Invalid, "the request cannot be written: %w", err)
	}
	watch := wire.NewWatch(ctx, c.opts.Idle)
	defer watch.Stop()
	resp, err := c.calls.Send(watch, http.MethodPost, "/api/pull", nil, body)
	if err != nil {
		return c.unpulled(name, c.who.Network(ctx, watch, err))
	}
	defer resp.Body.Close()
	lines := wire.NewLines(watch.Reader(resp.Body))
	sizes := layers{}
	for {
		line, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return c.who.E(core.Unavailable, "%s broke the download of %s off", c.opts.Provider, name).
				WithHint("go on with it: loci models pull %s", name)
		}
		if err != nil {
			return c.unpulled(name, c.who.Network(ctx, watch, err))
		}
		if line = bytes.TrimSpace(line); len(line) == 0 {
			continue
		}
		var p struct {
			Status    string `json:"status"`
			Digest    string `json:"digest"`
			Error     string `json:"error"`
			Total     int64  `json:"total"`
			Completed int64  `json:"completed"`
		}
		if json.Unmarshal(line, &p) != nil {
			return c.who.E(core.Unavailable, "%s sent a line that cannot be read", c.opts.Provider)
		}
		if p.Error != "" {
			return c.unpulled(name, c.who.InBand(line))
		}
		sizes.add(p.Digest, p.Completed, p.Total)
		done, total := sizes.sum()
		d := core.Pulled{Status: p.Status, Completed: done, Total: total, Done: p.Status == "success"}
		if !told(d) || d.Done {
			return nil
		}
	}
}

// unpulled says what to do about a download that failed.
func (c *Client) unpulled(name string, e *core.Error) *core.Error {
	text := strings.ToLower(e.Msg)
	switch {
	case strings.Contains(text, "nothing answers"): // the server itself doesn't
	case e.Kind == core.Cancelled || e.Kind == core.Timeout && !strings.Contains(text, "sent nothing"):
	case wire.Says(text, "file does not exist", "model not found", "manifest unknown", "repository not found", "invalid model name"):
		e.Kind, e.Hint = core.NotFound, "its library has no such model: https://ollama.com/library lists them, with their tags"
	case wire.Says(text, "no space left", "not enough space"):
		e.Kind, e.Hint = core.Invalid, "make room on the disk of the server, and pull it again: it goes on from where it was"
	case wire.Says(text, "requires a newer version", "newer version of ollama"):
		e.Kind, e.Hint = core.Invalid, "update Ollama: https://ollama.com/download"
	case wire.Says(text, "no such host", "connection refused", "i/o timeout", "max retries exceeded", "network is unreachable"):
		e.Kind, e.Hint = core.Unavailable, "the server does not reach its library; pull it again when it does: it goes on from where it was"
	case e.Kind == core.Unavailable:
		e.Hint = "pull it again, and it goes on from where it was: loci models pull " + name
	}
	return e
}

// layers are the parts of a model by their digests.
type layers map[string]layer

type layer struct{ completed, total int64 }

// add notes what is known of a part. Sizes that make no sense count as none.
func (l layers) add(digest string, completed, total int64) {
	if digest == "" || total <= 0 || total > 1<<50 || len(l) >= mostLayers && l[digest].total == 0 {
		return
	}
	l[digest] = layer{min(max(completed, 0, l[digest].completed), total), total}
}

func (l layers) sum() (completed, total int64) {
	for _, one := range l {
		completed, total = completed+one.completed, total+one.total
	}
	return completed, total
}
