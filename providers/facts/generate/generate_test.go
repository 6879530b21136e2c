package main

import (
	"flag"
	"os"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the page anew")

func TestThePageIsWhatTheTableSays(t *testing.T) {
	t.Parallel()
	const path = "../../../docs/model-facts.md"
	want := page()
	if *update {
		if err := os.WriteFile(path, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table says: go test ./providers/facts/generate -update", path)
	}
}

func TestARowHasWhatTheCataloguesSay(t *testing.T) {
	t.Parallel()
	c := clone{files: map[string][]byte{
		"models/v/base.toml": []byte("tool_call = true\nreasoning = true\nstructured_output = true\n[limit]\ncontext = 1000\n" +
			"output = 100\n[modalities]\ninput = [\"text\", \"image\"]\noutput = [\"text\"]\n"),
		"providers/v/models/m.toml": []byte("base_model = \"v/base\"\nbase_model_omit = [\"structured_output\"]\n" +
			"[[reasoning_options]]\ntype = \"toggle\"\n[[reasoning_options]]\ntype = \"effort\"\nvalues = [\"high\", \"low\"]\n" +
			"[limit]\ncontext = 2000\n[cost]\ninput = 1.25\noutput = 10\ncache_read = 0.0028\n" +
			"[[cost.tiers]]\ntier = { size = 200_000 }\ninput = 2.5\noutput = 15\n"),
		"providers/v/models/gone.toml":   []byte("status = \"deprecated\"\n[limit]\ncontext = 1\n"),
		"providers/v/models/drawer.toml": []byte("[modalities]\noutput = [\"image\"]\n"),
		"internal/providers/configs/w.json": []byte(`{"models":[{"id":"x","cost_per_1m_in":5,"cost_per_1m_out":30,` +
			`"cost_per_1m_in_cached":6.25,"cost_per_1m_out_cached":0.5,"context_window":7}]}`),
	}}
	rows, err := c.modelsDev("v")
	if err != nil {
		t.Fatal(err)
	}
	m := rows["m"]
	const want = "m\t2000\t100\tktri\tnone,low,high\t1.25 10 0.0028|200000:2.5 15\n"
	if got := m.line("m"); got != want || len(rows) != 1 {
		t.Errorf("of %d rows it is %q", len(rows), got)
	}
	others, err := c.catwalk("w")
	if err != nil {
		t.Fatal(err)
	}
	x := others["x"]
	if got := x.line("x"); got != "x\t7\t\tkts\t\t5 30 0.5 6.25\n" {
		t.Errorf("the second catalogue gives %q", got)
	}
	const differ = "window 2000, catwalk 7; input costs 1.25, catwalk 5; output costs 10, catwalk 30"
	if said := strings.Join(m.differs(&x), "; "); said != differ {
		t.Errorf("their differences are %q", said)
	}
}
