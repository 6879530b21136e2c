package providers

import "strings"

// known is a family of models and its window, for servers whose listing has no sizes. State: 21 November 2026; where a
// family's members differ, the smallest.
type known struct {
	prefix string
	window int
	output int
}

// families is searched in order, so a longer prefix stands before a shorter one.
func families() []known {
	return []known{
		{"gpt-4.1", 1_047_576, 32_768},
		{"gpt-4o", 128_000, 16_384},
		{"gpt-4-turbo", 128_000, 4_096},
		{"gpt-4", 8_192, 4_096},
		{"gpt-3.5", 16_385, 4_096},
		{"gpt-oss", 131_072, 0},
		{"gpt-5-chat", 128_000, 16_384},
		{"gpt-5", 400_000, 128_000},
		{"gpt-6", 400_000, 128_000},
		{"chatgpt-4o", 128_000, 16_384},
		{"o1", 200_000, 100_000},
		{"o3", 200_000, 100_000},
		{"o4", 200_000, 100_000},
		{"deepseek", 128_000, 0},
		{"grok-4-fast", 2_000_000, 0},
		{"grok-4.1-fast", 2_000_000, 0},
		{"grok-4", 256_000, 0},
		{"grok-3", 131_072, 0},
		{"grok", 131_072, 0},
		{"mistral-large", 128_000, 0},
		{"mistral", 32_768, 0},
		{"magistral", 40_000, 0},
		{"llama-3.1", 131_072, 0},
		{"llama-3.3", 131_072, 0},
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
