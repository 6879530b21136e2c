package wire

import (
	"encoding/json"
	"strings"
)

// Unquoted returns a call's arguments without the quotes that some servers put around the whole object. What is no object
// inside of a text stays as it is.
func Unquoted(text string) string {
	var inner string
	if !strings.HasPrefix(strings.TrimSpace(text), `"`) || json.Unmarshal([]byte(text), &inner) != nil {
		return text
	}
	inner = strings.TrimSpace(inner)
	switch {
	case inner == "":
		return "{}"
	case strings.HasPrefix(inner, "{") && json.Valid([]byte(inner)):
		return inner
	}
	return text
}
