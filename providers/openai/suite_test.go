package openai_test

import (
	"testing"

	"loci/core"
	"loci/providers/internal/wire"
	"loci/providers/openai"
	"loci/providers/protocol"
	"loci/providers/providertest"
)

// newClient returns a client of a scripted server.
func newClient(t *testing.T, s *providertest.Server, key core.Secret, q openai.Quirks) *openai.Client {
	t.Helper()
	transport := wire.NewTransport(nil)
	t.Cleanup(transport.CloseIdleConnections)
	return openai.New(protocol.Options{
		Provider: "openai",
		BaseURL:  s.V1(),
		Values:   protocol.Values{"OPENAI_API_KEY": key},
		HTTP:     protocol.Signed(transport, s.V1(), nil, protocol.Bearer(key)),
	}, q)
}

func TestChatPassesTheSuite(t *testing.T) {
	t.Parallel()
	providertest.Suite(t, providertest.Subject{
		Model: "test-model", HasUsage: true,
		New: func(t *testing.T, s *providertest.Server, key core.Secret) core.ChatModel {
			t.Helper()
			return newClient(t, s, key, openai.Quirks{})
		},
	})
}

func TestResponsesPassesTheSuite(t *testing.T) {
	t.Parallel()
	providertest.Suite(t, providertest.Subject{
		Model: "gpt-5-mini", HasUsage: true, Keeps: true,
		New: func(t *testing.T, s *providertest.Server, key core.Secret) core.ChatModel {
			t.Helper()
			return newClient(t, s, key, openai.Quirks{Wire: openai.ByFamily, OwnHost: true})
		},
	})
}
