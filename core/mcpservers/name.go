package mcpservers

import (
	"crypto/sha256"
	"encoding/hex"
	"strconv"
	"strings"
)

// legal is a text with what no name of a tool can hold replaced.
func legal(text string) string {
	text = strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' || r >= 'A' && r <= 'Z' || r >= 'a' && r <= 'z' || r == '_' || r == '-' {
			return r
		}
		return '_'
	}, text)
	if text == "" {
		return "_"
	}
	return text
}

// markOf tells tools apart whose names look the same once they are shortened.
func markOf(server, remote string, salt int) string {
	sum := sha256.Sum256([]byte(server + "\x00" + remote + "\x00" + strconv.Itoa(salt)))
	return hex.EncodeToString(sum[:4])
}
