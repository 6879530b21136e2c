package ollama_test

import (
	"testing"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/ollama"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

// newClient returns a client of a scripted server.
func newClient(t *testing.T, s *providertest.Server, key core.Secret) *ollama.Client {
	t.Helper()
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	return ollama.New(protocol.Options{
		Provider: "ollama",
		BaseURL:  s.URL,
		Values:   protocol.Values{"OLLAMA_API_KEY": key},
		HTTP:     protocol.Signed(transport, s.URL, nil, protocol.Bearer(key)),
	})
}

func TestOllamaPassesTheSuite(t *testing.T) {
	t.Parallel()
	providertest.Suite(t, providertest.Subject{
		Model: "test-model", Keeps: true,
		New: func(t *testing.T, s *providertest.Server, key core.Secret) core.ChatModel {
			t.Helper()
			return newClient(t, s, key)
		},
	})
}
