package request

import "testing"

func TestInnerThoughtsAreTakenOutAndPutBack(t *testing.T) {
	t.Parallel()
	rest, thinking, beat := SplitArguments(`{"thinking":"I \"see\"","label":"human","request_heartbeat":true}`)
	if rest != `{"label":"human","request_heartbeat":true}` || thinking != `I "see"` || !beat {
		t.Errorf("got %q, %q, %v", rest, thinking, beat)
	}
	if got := withThinking(rest, thinking); got != `{"thinking":"I \"see\"","label":"human","request_heartbeat":true}` {
		t.Errorf("put back: %s", got)
	}
	if got := withThinking(`{}`, "x"); got != `{"thinking":"x"}` {
		t.Errorf("into an empty object: %s", got)
	}
	if rest, thinking, beat := SplitArguments(`{"thinking":"x","la`); rest != `{"thinking":"x","la` || thinking != "" || beat {
		t.Errorf("broken text: %q %q %v", rest, thinking, beat)
	}
}
