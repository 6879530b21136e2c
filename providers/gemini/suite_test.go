package gemini_test

import (
	"testing"

	"loci/core"
	"loci/providers/gemini"
	"loci/providers/internal/wire"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

// newClient returns a client of a scripted server.
func newClient(t *testing.T, s *providertest.Server, key core.Secret, q gemini.Quirks) *gemini.Client {
	t.Helper()
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	return gemini.New(protocol.Options{
		Provider: "google_ai",
		BaseURL:  s.V1beta(),
		Values:   protocol.Values{"GEMINI_API_KEY": key},
		HTTP:     protocol.Signed(transport, s.V1beta(), nil, gemini.Key(key)),
	}, q)
}

func TestGenerateContentPassesTheSuite(t *testing.T) {
	t.Parallel()
	providertest.Suite(t, providertest.Subject{
		Model: "test-model", HasUsage: true, Keeps: true,
		New: func(t *testing.T, s *providertest.Server, key core.Secret) core.ChatModel {
			t.Helper()
			return newClient(t, s, key, gemini.Quirks{})
		},
	})
}
