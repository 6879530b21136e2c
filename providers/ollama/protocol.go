package ollama

import (
	"time"

	"loci/core"
	"loci/providers/protocol"
)

// Protocol is Ollama's own wire.
type Protocol struct {
	// KeepAlive is how long the server keeps a model loaded after an answer; 0: as it likes; below 0: until it ends.
	KeepAlive time.Duration
}

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "ollama" }

// Address implements protocol.AddressParser.
func (Protocol) Address(_, text string) (string, error) { return BaseURL(text) }

// Open implements protocol.Protocol.
func (p Protocol) Open(o protocol.Options) (protocol.Server, error) {
	c := New(o)
	c.keep = p.KeepAlive
	return c, nil
}

// mostKept is how long a model is kept loaded at most, short of always.
const mostKept = 30 * 24 * time.Hour

// Set implements protocol.Configurer.
func (p Protocol) Set(settings map[string]string) (protocol.Protocol, error) {
	for name, value := range settings {
		if name != "keep_alive" {
			return nil, protocol.Apply(&p, map[string]string{name: value}, map[string]map[string]func(*Protocol){"keep_alive": nil})
		}
		if value == "always" {
			p.KeepAlive = -1
			continue
		}
		d, err := time.ParseDuration(value)
		if err != nil || d < time.Second || d > mostKept {
			return nil, core.E(core.Invalid, "%s cannot be %q", name, value).WithHint("it is a time, like 30m or 24h, or always")
		}
		p.KeepAlive = d
	}
	return p, nil
}
