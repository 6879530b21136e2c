package facts

import (
	"slices"
	"strings"
	"testing"

	"loci/core"
)

func TestAModelThatIsSoldHasItsLimitsAbilitiesAndPrice(t *testing.T) {
	t.Parallel()
	f, ok := Sold("anthropic", "claude-sonnet-5")
	if !ok || f.Window != 1_000_000 || f.MaxOutput != 128_000 || !f.Tools || f.Sampling || f.Images() != core.ImagesTaken {
		t.Fatalf("%v %+v", ok, f)
	}
	if want := (core.Price{Input: 2_000_000, Output: 10_000_000, CacheRead: 200_000, CacheWrite: 2_500_000}); f.Price == nil ||
		f.Price.Input != want.Input || f.Price.Output != want.Output || f.Price.CacheRead != want.CacheRead ||
		f.Price.CacheWrite != want.CacheWrite {
		t.Errorf("it costs %+v", f.Price)
	}
	if !slices.Contains(f.Efforts, "max") || f.Efforts[0] != "none" {
		t.Errorf("its efforts are %v", f.Efforts)
	}
}

func TestAVersionWithItsDateIsTheModel(t *testing.T) {
	t.Parallel()
	plain, ok := Sold("openai", "gpt-5.4")
	if !ok {
		t.Fatal("gpt-5.4 is unknown")
	}
	for _, name := range []string{"gpt-5.4-2026-03-05", "GPT-5.4-20260305"} {
		if f, ok := Sold("openai", name); !ok || f.Window != plain.Window || f.Price == nil {
			t.Errorf("%s: %v %+v", name, ok, f)
		}
	}
	for _, name := range []string{"gpt-5.4-custom", "gpt-5.4-2026-03-0x", ""} {
		if f, ok := Sold("openai", name); ok {
			t.Errorf("%q is %+v", name, f)
		}
	}
}

func TestLargeRequestsCostWhatTheirTierDoes(t *testing.T) {
	t.Parallel()
	f, ok := Sold("google_ai", "gemini-2.5-pro")
	if !ok || f.Price == nil || len(f.Price.Above) != 1 {
		t.Fatalf("%v %+v", ok, f)
	}
	small := f.Price.Of(core.Usage{Prompt: 1_000, Completion: 1_000})
	large := f.Price.Of(core.Usage{Prompt: 300_000, Completion: 1_000})
	if small.String() != "$0.01" || large.Dollars() != 0.765 {
		t.Errorf("%s, %v", small, large.Dollars())
	}
}

func TestWhatNobodySellsHereIsKnownByItsNameAndHasNoPrice(t *testing.T) {
	t.Parallel()
	for name, window := range map[string]int{"gpt-6.1-terra": 400_000, "unsloth/gpt-oss-20b-GGUF": 131_072, "who-knows": 0} {
		if f, ok := Family(name); f.Window != window || ok != (window > 0) || f.Price != nil {
			t.Errorf("%s: %v %+v", name, ok, f)
		}
	}
	if f, _ := Family("anthropic/claude-sonnet-5"); !f.Binds || f.Price != nil || f.Window != 1_000_000 {
		t.Errorf("%+v", f)
	}
	if _, ok := Sold("nobody", "gpt-5"); ok || len(All("nobody\n")) != 0 {
		t.Error("a provider that the table doesn't have sells something")
	}
}

func TestEveryRowOfTheTableIsRead(t *testing.T) {
	t.Parallel()
	rows := 0
	for line := range strings.Lines(table) {
		if !strings.HasPrefix(line, "#") && !strings.HasPrefix(line, "[") {
			rows++
		}
	}
	read := len(All(families))
	for _, provider := range Providers() {
		all := All(provider)
		if len(all) == 0 {
			t.Errorf("%s has no models", provider)
		}
		for _, f := range all {
			read++
			if p := f.Price; p != nil && (p.Input < 0 || p.Output < 0 || p.Input > core.Dollar || p.CacheRead > p.Input) {
				t.Errorf("%s/%s costs %+v", provider, f.Name, p)
			}
		}
	}
	if read != rows || rows < 500 {
		t.Errorf("%d of %d rows are read", read, rows)
	}
	if !strings.Contains(Made(), "models.dev") || !strings.Contains(Made(), " of 20") {
		t.Errorf("it was made of %q", Made())
	}
	if len(table) > 120<<10 {
		t.Errorf("the table has %d bytes", len(table))
	}
}

func TestTheTableIsNotReadBeforeItIsAskedFor(t *testing.T) { // not parallel: what others read counts
	sections.Clear()
	count := func() (n int) {
		sections.Range(func(any, any) bool { n++; return true })
		return n
	}
	if Made(); count() != 0 {
		t.Error("saying when it was made reads it")
	}
	if Sold("deepseek", "x"); count() != 1 {
		t.Errorf("%d sections are read for one provider", count())
	}
}
