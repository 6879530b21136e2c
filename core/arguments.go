package core

import (
	"encoding/json"
	"strings"
)

// ParseArguments reads the JSON text of a call's arguments into an object. Empty text is an empty object; anything
// that is not an object is invalid.
func ParseArguments(text string) (map[string]any, error) {
	if strings.TrimSpace(text) == "" {
		return map[string]any{}, nil
	}
	var args map[string]any
	if err := json.Unmarshal([]byte(text), &args); err != nil {
		return nil, E(Invalid, "the arguments are not a JSON object: %w", err)
	}
	if args == nil {
		args = map[string]any{}
	}
	return args, nil
}
