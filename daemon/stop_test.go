package daemon

import (
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"
	"loci/providers/providertest"
)

func TestAnAnswerThatEndsWhileTheDaemonStopsReachesItsReaderWhole(t *testing.T) {
	t.Parallel()
	p, settings := home(t)
	model := providertest.NewServer(t)
	_, stop := start(t, Config{Paths: p, Settings: settings, Environ: environ("OPENAI_API_KEY", "key", "OPENAI_BASE_URL", model.V1())})
	c, s := talker(t, p, "/")
	stopping, last := false, api.Message{}
	for m, err := range c.Stream(t.Context(), client.Target{AgentID: s.AgentID, ConversationID: s.ConversationID}, api.StreamingRequest{
		Request: api.Request{Messages: []api.Input{api.UserInput("SLEEP 300ms\nSAY late", "")}},
	}) {
		if err != nil {
			t.Fatal(err)
		}
		if !stopping { // the first message says that the run is accepted
			stopping = true
			if err := c.Shutdown(t.Context(), false); err != nil {
				t.Fatal(err)
			}
		}
		if m.MessageType == api.MessageStopReason {
			last = m
		}
	}
	if last.StopReason != api.StopEndTurn {
		t.Errorf("the stream ended with %q", last.StopReason)
	}
	if err := stop(); err != nil {
		t.Error(err)
	}
}
