// Package offline is the built-in model: a small, deterministic program that reads and keeps stated facts. It isn't a
// language model, and says so.
//
// It lets a machine without keys or network do the main job for real. It sees nothing but the ChatRequest: it reads
// facts from the memory blocks of the prompt, from announcements and recalled passages, from the thread and from search
// results, and it stores with whichever memory tools are offered, as any model would. It understands plain English
// sentences by grammar and a lexicon; what it doesn't understand it leaves alone and says so.
//
// Promises: the same request gives the same deltas; it fails only if its context ends; it makes no more than a handful
// of calls per message; its work is bounded however long the input is. A Model is safe for concurrent use.
//
// It is an adapter like the protocols, and imports core and the built-in word vectors.
package offline

import (
	"context"
	"encoding/json"
	"fmt"
	"hash/fnv"
	"iter"
	"strings"
	"unicode"

	"loci/core"
	"loci/providers/embed"
)

// Model is the built-in model. The zero value works, but knows only the words on its own lists.
type Model struct {
	words    core.Embedder
	readings readings
}

var _ core.ChatModel = (*Model)(nil)

// New returns the built-in model.
func New() *Model { return &Model{words: embed.New()} }

// Stream answers a request word by word. It yields no error except that of a context that has ended.
func (m *Model) Stream(ctx context.Context, req core.ChatRequest) iter.Seq2[core.Delta, error] {
	return func(yield func(core.Delta, error) bool) {
		if ended(ctx, yield) {
			return
		}
		req, images, alone := withoutImages(req)
		var answer reply
		if !alone {
			answer = decide(newScene(req), &similarity{ctx: ctx, words: m.words, readings: &m.readings})
		}
		if len(images) > 0 && len(answer.calls) == 0 {
			answer.text = strings.TrimSpace(blind(images) + " " + answer.text)
		}
		for d := range answer.deltas(callSeed(req)) {
			if ended(ctx, yield) || !yield(d, nil) {
				return
			}
		}
		if ended(ctx, yield) {
			return
		}
		usage := answer.usage(req)
		yield(core.Delta{End: true, Finish: core.FinishStop, Usage: &usage}, nil)
	}
}

// ended reports whether the context is over, and yields its error if so.
func ended(ctx context.Context, yield func(core.Delta, error) bool) bool {
	if ctx.Err() == nil {
		return false
	}
	kind := core.KindOf(context.Cause(ctx))
	if kind != core.Timeout {
		kind = core.Cancelled
	}
	yield(core.Delta{}, &core.Error{Kind: kind, Msg: "the answer was stopped", Err: context.Cause(ctx), Provider: true})
	return true
}

// reply is what the model decided: calls, or a text.
type reply struct {
	text  string
	calls []call
}

// call is one tool call, with its arguments in the order they are written.
type call struct {
	name string
	args []arg
}

type arg struct {
	name  string
	value any
}

// arguments writes the JSON text of a call's arguments.
func (c call) arguments() string {
	var b strings.Builder
	b.WriteByte('{')
	for i, a := range c.args {
		if i > 0 {
			b.WriteByte(',')
		}
		b.WriteString(encode(a.name) + ":" + encode(a.value))
	}
	b.WriteByte('}')
	return b.String()
}

// encode writes a value as human-readable JSON.
func encode(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if enc.Encode(v) != nil {
		return "null"
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// deltas splits a reply into words.
func (r reply) deltas(seed string) iter.Seq[core.Delta] {
	return func(yield func(core.Delta) bool) {
		for word := range words(r.text) {
			if !yield(core.Delta{Text: word}) {
				return
			}
		}
		for i, c := range r.calls {
			if !yield(core.Delta{Call: &core.CallDelta{Index: i, ID: fmt.Sprintf("call_%s%02d", seed, i), Name: c.name}}) {
				return
			}
			for word := range words(c.arguments()) {
				if !yield(core.Delta{Call: &core.CallDelta{Index: i, Arguments: word}}) {
					return
				}
			}
		}
	}
}

// words yields pieces that start at word boundaries; joined, they are the text.
func words(s string) iter.Seq[string] {
	return func(yield func(string) bool) {
		start, inSpace := 0, true
		for i, r := range s {
			space := unicode.IsSpace(r)
			if inSpace && !space && i > start && strings.TrimSpace(s[start:i]) != "" {
				if !yield(s[start:i]) {
					return
				}
				start = i
			}
			inSpace = space
		}
		if start < len(s) {
			yield(s[start:])
		}
	}
}

func (r reply) usage(req core.ChatRequest) core.Usage {
	prompt := core.EstimateTokens(req.System)
	for _, m := range req.Messages {
		prompt += core.EstimateTokens(m.Text)
		for _, c := range m.Calls {
			prompt += core.EstimateTokens(c.Name) + core.EstimateTokens(c.Arguments)
		}
		for _, ret := range m.Returns {
			prompt += core.EstimateTokens(ret.Text)
		}
	}
	for _, t := range req.Tools {
		prompt += core.EstimateTokens(t.Name) + core.EstimateTokens(t.Description) + core.EstimateTokens(string(t.Parameters))
	}
	completion := core.EstimateTokens(r.text)
	for _, c := range r.calls {
		completion += core.EstimateTokens(c.name) + core.EstimateTokens(c.arguments())
	}
	return core.Usage{Prompt: prompt, Completion: completion, Total: prompt + completion}
}

// callSeed makes call ids that differ between steps and threads, but are the same for the same request.
func callSeed(req core.ChatRequest) string {
	h := fnv.New64a()
	write := func(s string) { _, _ = h.Write(append([]byte(s), 0)) }
	write(req.System)
	write(req.CacheKey)
	for _, m := range req.Messages {
		write(string(m.Role))
		write(m.Text)
		for _, c := range m.Calls {
			write(c.ID)
		}
		for _, r := range m.Returns {
			write(r.Text)
		}
	}
	return fmt.Sprintf("%016x", h.Sum64())
}
