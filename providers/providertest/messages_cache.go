package providertest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// bindingBeta is the header with which a client asks how blocks are bound, and hears what was dropped.
const bindingBeta = "thinking-binding-controls-2026-08-01"

// Where a block stands.
const (
	inTools = iota
	inSystem
	inMessages
)

// promptBlock is a block of a request, as it counts for the cache and for what thinking is bound to.
type promptBlock struct {
	at        int
	value     map[string]any
	path      string // messages.1.content.0
	canonical string // without its mark
	mark      string // 5m, 1h or ""
	thinking  bool
}

// read takes the request apart.
func (m *messagesWire) read() error {
	for i, t := range m.in.Tools {
		if err := m.add(inTools, "", fmt.Sprintf("tools.%d", i), t); err != nil {
			return err
		}
	}
	if len(m.in.System) > 0 {
		blocks, err := blocksOf(m.in.System)
		if err != nil {
			return fmt.Errorf("system: %w", err)
		}
		for i, b := range blocks {
			if err := m.add(inSystem, "", fmt.Sprintf("system.%d", i), b); err != nil {
				return err
			}
		}
	}
	for i := range m.in.Messages {
		msg := &m.in.Messages[i]
		var err error
		if msg.blocks, err = blocksOf(msg.Content); err != nil || len(msg.blocks) == 0 {
			return fmt.Errorf("messages.%d: all messages must have non-empty content", i)
		}
		if msg.Role != "user" && msg.Role != "assistant" {
			return fmt.Errorf("messages.%d.role: Input should be 'user' or 'assistant'", i)
		}
		for j, b := range msg.blocks {
			if err := m.add(inMessages, msg.Role, fmt.Sprintf("messages.%d.content.%d", i, j), b); err != nil {
				return err
			}
		}
	}
	return nil
}

func (m *messagesWire) add(at int, role, path string, value map[string]any) error {
	kind, _ := value["type"].(string)
	b := promptBlock{at: at, value: value, path: path, thinking: kind == "thinking" || kind == "redacted_thinking"}
	text, isText := value["text"].(string)
	if kind == "text" && (!isText || strings.TrimSpace(text) == "") {
		return fmt.Errorf("%s: text content blocks must be non-empty", path)
	}
	if mark, ok := value["cache_control"].(map[string]any); ok {
		b.mark = "5m"
		if ttl, ok := mark["ttl"].(string); ok {
			b.mark = ttl
		}
		if b.thinking || mark["type"] != "ephemeral" || b.mark != "5m" && b.mark != "1h" {
			return fmt.Errorf("%s.cache_control: Extra inputs are not permitted", path)
		}
	}
	bare := maps.Clone(value)
	delete(bare, "cache_control")
	raw, err := json.Marshal(bare)
	if err != nil {
		return err
	}
	b.canonical = role + string(raw)
	m.blocks = append(m.blocks, b)
	return nil
}

// cacheUse is what the cache did for a request, in tokens.
type cacheUse struct{ total, read, short, long int }

// lookback is how many blocks before a mark are looked at for what is cached.
const lookback = 20

// useCache reads the longest prefix that was written before, and writes up to each mark.
func (m *messagesWire) useCache() error {
	m.server.mu.Lock()
	defer m.server.mu.Unlock()
	now := m.server.now()
	sums, counts := make([]string, len(m.blocks)), make([]int, len(m.blocks))
	h := sha256.New()
	h.Write([]byte(m.in.Model))
	var marks []int
	for i, b := range m.blocks {
		h.Write([]byte(b.canonical + "\x00"))
		sums[i] = hex.EncodeToString(h.Sum(nil))
		m.cache.total += len(b.canonical)/4 + 1
		counts[i] = m.cache.total
		if b.mark == "" {
			continue
		}
		if n := len(marks); n > 0 && b.mark == "1h" && m.blocks[marks[n-1]].mark == "5m" {
			return fmt.Errorf("%s.cache_control.ttl: a ttl='1h' cache_control block must not come after a ttl='5m' one", b.path)
		}
		marks = append(marks, i)
	}
	if len(marks) > 4 {
		const words = "A maximum of 4 blocks with cache_control may be provided. Found %d"
		return fmt.Errorf(words, len(marks)) //nolint:staticcheck // the service's own words
	}
	for _, mark := range slices.Backward(marks) {
		for i := mark; i >= max(0, mark-lookback) && m.cache.read == 0; i-- {
			if entry, ok := m.server.cached[sums[i]]; ok && now.Before(entry.until) {
				m.cache.read = counts[i]
				m.server.cached[sums[i]] = entry.again(now)
			}
		}
	}
	done := m.cache.read
	for _, mark := range marks {
		life := map[string]time.Duration{"5m": 5 * time.Minute, "1h": time.Hour}[m.blocks[mark].mark]
		m.server.cached[sums[mark]] = cacheEntry{life: life}.again(now)
		if counts[mark] <= done {
			continue
		}
		if life == time.Hour {
			m.cache.long += counts[mark] - done
		} else {
			m.cache.short += counts[mark] - done
		}
		done = counts[mark]
	}
	return nil
}

// cacheEntry is a prefix that was written.
type cacheEntry struct {
	life  time.Duration
	until time.Time
}

func (e cacheEntry) again(now time.Time) cacheEntry {
	e.until = now.Add(e.life)
	return e
}

// signature is what a block of thinking is bound to.
type signature struct {
	Model  string `json:"m"`
	Prefix string `json:"p"` // everything before it but thinking
	Before string `json:"b"` // the thinking before it
	Text   string `json:"t"`
}

func digest(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:8])
}

// prefix is the digest of the first n blocks, in the order of the signature: system, tools, messages.
func (m *messagesWire) prefix(n int) string {
	var b strings.Builder
	for _, block := range m.blocks[:n] {
		if !block.thinking {
			b.WriteString(block.canonical + "\x00")
		}
	}
	return digest(b.String())
}

// sign signs the thinking of the answer.
func (m *messagesWire) sign(text string) string {
	s := signature{Model: m.in.Model, Prefix: m.prefix(len(m.blocks)), Text: digest(text)}
	for _, b := range m.blocks {
		if b.thinking {
			s.Before = digest(sealOf(b.value))
		}
	}
	raw, _ := json.Marshal(s) // plain strings
	return base64.StdEncoding.EncodeToString(raw)
}

// sealOf returns the signature of a block of thinking.
func sealOf(value map[string]any) string {
	s, _ := value["signature"].(string)
	data, _ := value["data"].(string)
	return s + data
}

// checkSignatures refuses thinking that was changed or, of a model that binds it, whose past was; or drops it where the
// client says so.
func (m *messagesWire) checkSignatures() error {
	drop := m.in.Thinking != nil && m.in.Thinking.Binding != nil && m.in.Thinking.Binding.Mismatch == "drop_block"
	before, first, bad := "", true, false
	for i, b := range m.blocks {
		if !b.thinking {
			continue
		}
		seal := sealOf(b.value)
		text, _ := b.value["thinking"].(string)
		var s signature
		raw, err := base64.StdEncoding.DecodeString(seal)
		if err != nil || json.Unmarshal(raw, &s) != nil || s.Text != digest(text) {
			return fmt.Errorf("%s: Invalid `signature` in `thinking` block", b.path)
		}
		if s.Model != m.in.Model {
			m.lost = append(m.lost, object{"type": "thinking_dropped", "path": b.path, "reason": "model_binding_mismatch"})
			continue
		}
		bad = bad || m.claude.Binds && (s.Prefix != m.prefix(i) || !first && s.Before != before)
		if bad && !drop {
			return errors.New(b.path + ": Invalid `signature` in `thinking` block. The block is bound to a different conversation. " +
				"Remove the block, or set `thinking.block_binding.prefix_mismatch_behavior` to \"drop_block\".")
		}
		if bad {
			m.lost = append(m.lost, object{"type": "thinking_dropped", "path": b.path, "reason": "prefix_binding_mismatch"})
		}
		before, first = digest(seal), false
	}
	return nil
}
