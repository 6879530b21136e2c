package providers

import "strings"

// known is a family of models and its window, for servers whose listing has no sizes. State: 21 November 2026; where a
// family's members differ, the smallest.
type known struct {
	prefix string
	window int
	output int
	open   bool // its weights are public
}

// families is searched in order, so a longer prefix stands before a shorter one.
func families() []known {
	return []known{
		{"gpt-4.1", 1_047_576, 32_768, false},
		{"gpt-4o", 128_000, 16_384, false},
		{"gpt-4-turbo", 128_000, 4_096, false},
		{"gpt-4", 8_192, 4_096, false},
		{"gpt-3.5", 16_385, 4_096, false},
		{"gpt-oss", 131_072, 0, true},
		{"gpt-5-chat", 128_000, 16_384, false},
		{"gpt-5", 400_000, 128_000, false},
		{"gpt-6", 400_000, 128_000, false},
		{"chatgpt-4o", 128_000, 16_384, false},
		{"o1", 200_000, 100_000, false},
		{"o3", 200_000, 100_000, false},
		{"o4", 200_000, 100_000, false},
		{"deepseek-v4", 1_000_000, 0, true},
		{"deepseek", 128_000, 0, true},
		{"grok-4-fast", 2_000_000, 0, false},
		{"grok-4.1-fast", 2_000_000, 0, false},
		{"grok-4", 256_000, 0, false},
		{"grok-3", 131_072, 0, false},
		{"grok", 131_072, 0, false},
		{"mistral-large", 128_000, 0, false},
		{"mistral", 32_768, 0, true},
		{"magistral", 40_000, 0, true},
		{"llama-3.1", 131_072, 0, true},
		{"llama-3.3", 131_072, 0, true},
	}
}

// The windows of models nobody knows.
const (
	unknownLocal = 32_768
	unknownCloud = 128_000
)

// catalogued returns what the table knows of a model; a vendor's prefix in the name does not count.
func catalogued(model string) known {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, k := range families() {
		if strings.HasPrefix(name, k.prefix) {
			return k
		}
	}
	return known{}
}
