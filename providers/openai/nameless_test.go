package openai_test

import (
	"bytes"
	"strings"
	"testing"

	"loci/core"
	"loci/providers/openai"
	"loci/providers/providertest"
)

func TestCallsWithoutANameEndAStream(t *testing.T) {
	t.Parallel()
	var b bytes.Buffer
	for range 2100 {
		b.WriteString(calls(`{"index":0,"function":{"arguments":"x"}}`))
	}
	if e := serve(
		t,
		openai.Quirks{},
		b.String(),
	).fails(t, providertest.Ask("m", "x")); e.Kind != core.Unavailable ||
		!strings.Contains(e.Msg, "name") {
		t.Errorf("%s %q", e.Kind, e.Msg)
	}
}
