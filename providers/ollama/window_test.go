package ollama

import (
	"encoding/json"
	"testing"
)

// llama8b is what a server says of a model of eight billion parameters.
const llama8b = `{"general.architecture":"llama","general.parameter_count":8030261248,"llama.block_count":32,` +
	`"llama.embedding_length":4096,"llama.attention.head_count":32,"llama.attention.head_count_kv":8,"llama.context_length":131072}`

func TestTheWindowIsWhatTheMachinesMemoryCarries(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		memory memory
		info   string
		quant  string
		want   int
	}{
		"nothing is known of the machine": {memory{}, llama8b, "Q4_K_M", DefaultWindow},
		"a small machine":                 {memory{bytes: 8 << 30}, llama8b, "Q4_K_M", smallest},
		"a little more":                   {memory{bytes: 9 << 30}, llama8b, "Q4_K_M", 12288},
		"enough":                          {memory{bytes: 16 << 30}, llama8b, "Q4_K_M", DefaultWindow},
		"not in full precision":           {memory{bytes: 16 << 30}, llama8b, "F16", smallest},
		"much, but not for graphics":      {memory{bytes: 64 << 30}, llama8b, "Q4_K_M", DefaultWindow},
		"much, for graphics too":          {memory{bytes: 64 << 30, unified: true}, llama8b, "Q4_K_M", unifiedWindow},
		"nothing is known of the model":   {memory{bytes: 4 << 30}, `{}`, "Q4_K_M", DefaultWindow},
		"its heads differ": {
			memory{bytes: 4 << 30},
			`{"general.architecture":"x","general.parameter_count":9e9,"x.block_count":9,"x.attention.head_count_kv":[1,2]}`,
			"Q4_0", DefaultWindow,
		},
		"absurd numbers": {
			memory{bytes: 1 << 30},
			`{"general.architecture":"x","general.parameter_count":4e15,"x.block_count":1e6,"x.attention.head_count_kv":1e6,` +
				`"x.attention.key_length":1e6}`, "F32", smallest,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var info map[string]json.RawMessage
			if err := json.Unmarshal([]byte(c.info), &info); err != nil {
				t.Fatal(err)
			}
			if got := c.memory.carries(info, c.quant); got != c.want {
				t.Errorf("%d, want %d", got, c.want)
			}
		})
	}
}

func TestAWindowIsTheRunningOneThenTheModelfilesThenWhatThereIsRoomFor(t *testing.T) {
	t.Parallel()
	for want, c := range map[int][4]int{
		32768: {32768, 0, 131072, 16384}, 65536: {4096, 65536, 131072, 16384}, 9216: {0, 0, 131072, 9216}, 2048: {0, 0, 2048, 9216},
		9000: {0, 0, 0, 9000}, 4096: {4096, 0, 4096, 9000},
	} {
		if got := window(c[0], c[1], c[2], c[3]); got != want {
			t.Errorf("%v: %d, want %d", c, got, want)
		}
	}
}
