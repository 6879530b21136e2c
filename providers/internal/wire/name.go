package wire

import (
	"crypto/rand"
	"crypto/sha256"
	"math/big"
	"slices"
	"strings"

	"loci/core"
)

// ToolName strips what templates leave around a tool's name, like "functions.weather", "weather:0" or
// "weather<|channel|>commentary". A name that contains no offered one is returned unchanged, and none at all
// becomes core.NoToolName.
func ToolName(name string, offered []string) string {
	switch {
	case strings.TrimSpace(name) == "":
		return core.NoToolName // what has no name is still answered, as a call of an unknown tool
	case slices.Contains(offered, name) || len(name) > mostName:
		return name
	}
	for _, part := range parts(name) {
		_, after, ok := strings.Cut(part, "to=")
		if ok {
			part = after
		}
		part = strings.TrimSpace(part)
		part = part[strings.LastIndexByte(part, ' ')+1:]
		part = strings.TrimPrefix(part, "functions.")
		if base, n, ok := strings.Cut(part, ":"); ok && strings.Trim(n, "0123456789") == "" {
			part = base
		}
		if slices.Contains(offered, part) {
			return part
		}
	}
	return name
}

// mostName limits how much of a name is searched.
const mostName = 256

// parts splits at marks like <|channel|>.
func parts(name string) []string {
	var out []string
	for {
		before, rest, ok := strings.Cut(name, "<|")
		out = append(out, before)
		if !ok {
			return out
		}
		_, name, ok = strings.Cut(rest, "|>")
		if !ok {
			return out
		}
	}
}

// NewCallID makes the id of a call that has none of its own.
func NewCallID() string { return "call_" + rand.Text()[:24] }

// ShortID maps a text to n letters and digits, deterministically.
func ShortID(text string, n int) string {
	sum := sha256.Sum256([]byte(text))
	s := new(big.Int).SetBytes(sum[:]).Text(62)
	for len(s) < n {
		s = "0" + s
	}
	return s[:n]
}
