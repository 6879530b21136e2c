package providers_test

import (
	"strings"
	"testing"

	"loci/core"
	"loci/providers"
	"loci/providers/providertest"
)

func TestAnHTTPSAddressOfAPlainServerSaysWhatToWrite(t *testing.T) {
	t.Parallel()
	for protocol, base := range addresses("") {
		s := providertest.NewServer(t)
		at := "https" + strings.TrimPrefix(s.URL, "http") + base
		p := providers.New(providers.Config{Rows: configured(t, "box", map[string]string{"protocol": protocol, "base_url": at})})
		t.Cleanup(p.Close)
		chat, _, err := p.Chat(t.Context(), "box/test-model", env(nil))
		if err == nil {
			_, err = providertest.Collect(t.Context(), t, chat, providertest.Ask("test-model", "hello"))
		}
		if core.KindOf(err) != core.Invalid || !strings.Contains(err.Error(), "speaks plain http, and its address begins with https") ||
			!strings.Contains(core.HintOf(err), "with http://") {
			t.Errorf("%s: %v (%s)", protocol, err, core.HintOf(err))
		}
		if silent := p.Silent(t.Context(), env(nil)); len(silent) != 1 || !strings.Contains(silent[0], "speaks plain http") {
			t.Errorf("%s: %q", protocol, silent)
		}
	}
}
