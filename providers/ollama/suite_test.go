package ollama_test

import (
	"testing"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/ollama"
	"loci/providers/providertest"
)

// newClient returns a client of a scripted server.
func newClient(t *testing.T, s *providertest.Server, key core.Secret) *ollama.Client {
	t.Helper()
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	return ollama.New(ollama.Options{Provider: "ollama", BaseURL: s.URL, Key: key, HTTP: transport})
}

func TestOllamaPassesTheSuite(t *testing.T) {
	t.Parallel()
	providertest.Suite(t, providertest.Subject{
		Model: "test-model",
		New: func(t *testing.T, s *providertest.Server, key core.Secret) core.ChatModel {
			t.Helper()
			return newClient(t, s, key)
		},
	})
}
