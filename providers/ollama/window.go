package ollama

import (
	"encoding/json"
	"strings"

	"loci/providers/internal/wire"
)

// DefaultWindow is requested if neither the user nor the server has given a size. The memory for a window is allocated
// when a model is loaded: about 2 GB at 16,384 tokens for an 8B model, twice that at 32,768, which would push part of
// the model out of a common 8 GB card. A Modelfile's num_ctx, the window that the model already runs with, or the
// agent's context window raise it.
const DefaultWindow = 16_384

// unifiedWindow is the same where the graphics processor has all of the main memory.
const unifiedWindow = 32_768

// smallest is the least running window that is kept: anything smaller is just Ollama's own small default, and a prompt
// with tools would fill it. For want of memory, too, the window is made no smaller.
const smallest = 8_192

// memory is that of the machine that the server runs on; 0: unknown.
type memory struct {
	bytes   int64
	unified bool
}

// carries returns the window, up to the default, that fits beside a model.
func (m memory) carries(info map[string]json.RawMessage, quantization string) int {
	most := DefaultWindow
	if m.unified {
		most = unifiedWindow
	}
	weights, perToken := weightsOf(info, quantization), perTokenOf(info)
	if m.bytes <= 0 || weights <= 0 || perToken <= 0 {
		return DefaultWindow
	}
	const own, step = 512 << 20, 1024 // what the runner needs besides; windows are rounded
	free := m.bytes/4*3 - weights - own
	return min(max(int(free/perToken)/step*step, smallest), most)
}

// weightsOf is about how large a model is in memory.
func weightsOf(info map[string]json.RawMessage, quantization string) int64 {
	var count wire.Count
	if json.Unmarshal(info["general.parameter_count"], &count) != nil {
		return 0
	}
	bits := int64(16)
	for _, q := range []struct {
		prefix string
		bits   int64
	}{{"Q2", 3}, {"Q3", 4}, {"Q4", 5}, {"IQ4", 5}, {"MXFP4", 5}, {"NVFP4", 5}, {"Q5", 6}, {"Q6", 7}, {"Q8", 9}, {"F32", 32}} {
		if strings.HasPrefix(strings.ToUpper(quantization), q.prefix) {
			bits = q.bits
		}
	}
	return int64(count) / 8 * bits
}

// perTokenOf is how much memory a token of the window takes: a key and a value of two bytes for each head of each layer.
func perTokenOf(info map[string]json.RawMessage) int64 {
	var family string
	if json.Unmarshal(info["general.architecture"], &family) != nil {
		return 0
	}
	number := func(name string) int64 {
		var n wire.Count
		_ = json.Unmarshal(info[family+"."+name], &n) // a list has no number: unknown
		return int64(n)
	}
	layers, heads := number("block_count"), number("attention.head_count_kv")
	key, value := number("attention.key_length"), number("attention.value_length")
	if all := number("attention.head_count"); key == 0 && all > 0 {
		key = number("embedding_length") / all
	}
	if value == 0 {
		value = key
	}
	const most = 1 << 20
	if layers > most || heads > most || key > most || value > most {
		return 0
	}
	return layers * heads * (key + value) * 2
}
