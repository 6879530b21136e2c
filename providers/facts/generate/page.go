package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"loci/core"
	"loci/providers/facts"
)

// resold are providers that mostly sell what others make; the page would be twice as long with them.
var resold = []string{"openrouter", "huggingface", "azure", "bedrock", "google_vertex"}

// page is docs/model-facts.md: the table, for people.
func page() string {
	var b strings.Builder
	b.WriteString(`# What is known of models

This page is made from the table that is part of Loci: what models take and cost, as two public catalogues had it, ` + facts.Made() + `.
Nothing of it is fetched while Loci runs. What a server says of itself counts before it, and what you say of a model in
` + "`config.toml`" + ` before both: see [providers](providers.md#what-a-model-is).

Prices are US dollars for a million tokens: sent, answered, read from the prompt cache, written to it. A price that is not here is
unknown, and [costs](costs.md) say so. "Takes" is what a message may hold besides text, and whether there are tools (t), a
temperature (s) and a schema of the answer (j).

The table also has the models of ` + strings.Join(resold, ", ") + `, which this page leaves out: ` + "`loci models`" + ` shows what is
reachable.
`)
	for _, provider := range facts.Providers() {
		if slices.Contains(resold, provider) {
			continue
		}
		b.WriteString("\n## " + provider + "\n\n| model | window | answer | takes | efforts | sent | answered | read | written |\n" +
			"|---|---|---|---|---|---|---|---|---|\n")
		for _, f := range facts.All(provider) {
			b.WriteString(row(&f))
		}
	}
	return b.String()
}

func row(f *facts.Fact) string {
	takes := ""
	for _, on := range []struct {
		is     bool
		letter string
	}{{f.Tools, "t"}, {f.Sampling, "s"}, {f.Schema, "j"}} {
		if on.is {
			takes += on.letter
		}
	}
	if len(f.Inputs) > 0 {
		takes = strings.TrimSpace(takes + " " + strings.Join(f.Inputs, " "))
	}
	cells := []string{f.Name, size(f.Window), size(f.MaxOutput), takes, strings.Join(f.Efforts, " ")}
	cells = append(cells, dollars(f.Price)...)
	return "| " + strings.Join(cells, " | ") + " |\n"
}

// dollars are the four prices of a model, for a million tokens; those above a size stand behind them.
func dollars(p *core.Price) []string {
	if p == nil {
		return []string{"?", "?", "?", "?"}
	}
	all := [][4]core.Money{{p.Input, p.Output, p.CacheRead, p.CacheWrite}}
	for _, a := range p.Above {
		all = append(all, [4]core.Money{a.Input, a.Output, a.CacheRead, a.CacheWrite})
	}
	out := make([]string, 4)
	for i := range out {
		for j, prices := range all {
			text := strconv.FormatFloat((prices[i] * 1_000_000).Dollars(), 'f', -1, 64)
			if j > 0 {
				text = fmt.Sprintf(" (above %d: %s)", p.Above[j-1].Over, text)
			}
			out[i] += text
		}
	}
	return out
}
