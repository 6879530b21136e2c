package ollama

import "loci/providers/protocol"

// Protocol is Ollama's own wire.
type Protocol struct{}

// Name implements protocol.Protocol.
func (Protocol) Name() string { return "ollama" }

// Address implements protocol.AddressParser.
func (Protocol) Address(_, text string) (string, error) { return BaseURL(text) }

// Open implements protocol.Protocol.
func (Protocol) Open(o protocol.Options) (protocol.Server, error) { return New(o), nil }
