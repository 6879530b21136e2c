package anthropic_test

import (
	"testing"

	"loci/core"
	"loci/providers/anthropic"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

// newClient returns a client of a scripted server.
func newClient(t *testing.T, s *providertest.Server, key core.Secret, q anthropic.Quirks) *anthropic.Client {
	t.Helper()
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	return anthropic.New(protocol.Options{
		Provider: "anthropic",
		BaseURL:  s.V1(),
		Values:   protocol.Values{"ANTHROPIC_API_KEY": key},
		HTTP:     protocol.Signed(transport, s.V1(), nil, anthropic.Sign(key, "")),
	}, q)
}

func TestMessagesPassesTheSuite(t *testing.T) {
	t.Parallel()
	providertest.Suite(t, providertest.Subject{
		Model: "test-model", Enforces: "claude-opus-5-5", HasUsage: true, Keeps: true,
		New: func(t *testing.T, s *providertest.Server, key core.Secret) core.ChatModel {
			t.Helper()
			return newClient(t, s, key, anthropic.Quirks{})
		},
	})
}
