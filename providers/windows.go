package providers

import (
	"strings"

	"loci/core"
)

// modelFamily is a family of models and its window, for servers whose listing has no sizes. As of 21 November 2026; if a
// family's members differ, the smallest.
type modelFamily struct {
	prefix string
	window int
	output int
	open   bool // its weights are public
	binds  bool // its reasoning is valid only after an unchanged prefix
	images core.ImageInput
}

// families is searched in order, so longer prefixes come before shorter ones.
func families() []modelFamily {
	return []modelFamily{
		{prefix: "gpt-4.1", window: 1_047_576, output: 32_768, images: core.ImagesTaken},
		{prefix: "gpt-4o", window: 128_000, output: 16_384, images: core.ImagesTaken},
		{prefix: "gpt-4-turbo", window: 128_000, output: 4_096, images: core.ImagesTaken},
		{prefix: "gpt-4", window: 8_192, output: 4_096},
		{prefix: "gpt-3.5", window: 16_385, output: 4_096, images: core.ImagesRefused},
		{prefix: "gpt-oss", window: 131_072, open: true, images: core.ImagesRefused},
		{prefix: "gpt-5-chat", window: 128_000, output: 16_384, images: core.ImagesTaken},
		{prefix: "gpt-5", window: 400_000, output: 128_000, images: core.ImagesTaken},
		{prefix: "gpt-6", window: 400_000, output: 128_000, images: core.ImagesTaken},
		{prefix: "chatgpt-4o", window: 128_000, output: 16_384, images: core.ImagesTaken},
		{prefix: "claude", window: 200_000, binds: true, images: core.ImagesTaken},
		{prefix: "gemini-2.0", window: 1_048_576, output: 8_192, images: core.ImagesTaken},
		{prefix: "gemini", window: 1_048_576, output: 65_536, images: core.ImagesTaken},
		{prefix: "o1-mini", window: 128_000, output: 65_536, images: core.ImagesRefused},
		{prefix: "o3-mini", window: 200_000, output: 100_000, images: core.ImagesRefused},
		{prefix: "o1", window: 200_000, output: 100_000, images: core.ImagesTaken},
		{prefix: "o3", window: 200_000, output: 100_000, images: core.ImagesTaken},
		{prefix: "o4", window: 200_000, output: 100_000, images: core.ImagesTaken},
		{prefix: "deepseek-v4", window: 1_000_000, open: true, images: core.ImagesRefused},
		{prefix: "deepseek-vl", window: 4_096, open: true, images: core.ImagesTaken},
		{prefix: "deepseek-ocr", window: 8_192, open: true, images: core.ImagesTaken},
		{prefix: "deepseek", window: 128_000, open: true, images: core.ImagesRefused},
		{prefix: "grok-4-fast", window: 2_000_000, images: core.ImagesTaken},
		{prefix: "grok-4.1-fast", window: 2_000_000, images: core.ImagesTaken},
		{prefix: "grok-4", window: 256_000, images: core.ImagesTaken},
		{prefix: "grok-3", window: 131_072, images: core.ImagesRefused},
		{prefix: "grok", window: 131_072},
		{prefix: "mistral-large", window: 128_000},
		{prefix: "mistral", window: 32_768, open: true},
		{prefix: "magistral", window: 40_000, open: true},
		{prefix: "kimi-k2", window: 262_144, open: true},
		{prefix: "glm-4.5", window: 131_072, open: true},
		{prefix: "glm-", window: 200_000, open: true},
		{prefix: "minimax-m", window: 204_800, open: true},
		{prefix: "llama-3.1", window: 131_072, open: true, images: core.ImagesRefused},
		{prefix: "llama-3.3", window: 131_072, open: true, images: core.ImagesRefused},
	}
}

// The windows of unknown models.
const (
	unknownLocal = 32_768
	unknownCloud = 128_000
)

// catalogued returns what the table knows of a model; a vendor prefix in the name is ignored.
func catalogued(model string) modelFamily {
	name := strings.ToLower(model[strings.LastIndexByte(model, '/')+1:])
	for _, k := range families() {
		if strings.HasPrefix(name, k.prefix) {
			return k
		}
	}
	return modelFamily{}
}
