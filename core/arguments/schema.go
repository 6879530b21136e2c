package arguments

import (
	"encoding/json"
	"strings"

	"loci/core"
)

// heartbeat is an argument of the loop, which tools may be given and ignore.
const heartbeat = "request_heartbeat"

// Schema judges the arguments of one tool.
type Schema struct {
	root   *node
	cyclic bool // it refers to itself
	tracks bool // it has keywords about what no other looks at
	own    bool // heartbeat is an argument of the tool's own
}

// Compile reads a schema. One that is no schema, or that would take too long to judge by, is an error. Nothing is loaded from
// anywhere.
func Compile(text json.RawMessage) (*Schema, error) {
	if len(text) > maxSchema || depth(string(text)) > maxDepth {
		return nil, core.E(core.TooLarge, "the schema is too large or nested too deeply")
	}
	value, err := decode(string(text))
	if err != nil {
		return nil, core.E(core.Invalid, "the schema is not JSON: %w", err)
	}
	cyclic, err := affordable(value)
	if err != nil {
		return nil, err
	}
	root, tracks, err := newNode(value)
	if err != nil {
		return nil, err
	}
	_, own := root.properties[heartbeat]
	return &Schema{root: root, cyclic: cyclic, tracks: tracks, own: own}, nil
}

// Check returns what is wrong with arguments that Read returned, all of it in one error; nil if nothing is. An argument
// that is null counts as one that wasn't given, where the schema doesn't say otherwise.
func (s *Schema) Check(text string) error {
	if strings.TrimSpace(text) == "" {
		text = "{}"
	}
	given, err := decode(text)
	if err != nil {
		return core.E(core.Invalid, "the arguments are not a JSON object: %w", err)
	}
	if s.cyclic && depth(text) > maxCyclicDepth {
		return core.E(core.Invalid, "the arguments are nested more than %d deep", maxCyclicDepth)
	}
	if object, ok := given.(map[string]any); ok && !s.own {
		delete(object, heartbeat)
	}
	faults, err := s.judge(given)
	if err != nil || len(faults) == 0 {
		return err
	}
	if rest, err := s.judge(withoutNulls(given)); err == nil && len(rest) == 0 {
		return nil
	}
	return core.E(core.Invalid, "%s", report(faults))
}

// CheckAnswer returns what is wrong with a JSON value of any type that is no call's arguments: it has to fit as it stands.
func (s *Schema) CheckAnswer(text string) error {
	if depth(text) > maxDepth || s.cyclic && depth(text) > maxCyclicDepth {
		return core.E(core.Invalid, "the answer is nested too deeply")
	}
	given, err := decode(text)
	if err != nil {
		return core.E(core.Invalid, "the answer is not JSON: %w", err)
	}
	faults, err := s.judge(given)
	if err != nil || len(faults) == 0 {
		return err
	}
	for i, fault := range faults {
		faults[i] = ofAnswer(fault)
	}
	return core.E(core.Invalid, "%s", report(faults))
}

func (s *Schema) judge(given any) ([]string, error) {
	j := judgement{tracks: s.tracks}
	faults := j.faults(s.root, value{any: given}, nil)
	if !j.spend(0) {
		return nil, core.E(core.TooLarge, "the arguments take too long to be judged by their schema")
	}
	return faults, nil
}

// withoutNulls returns the value without the members of objects that are null.
func withoutNulls(value any) any {
	switch v := value.(type) {
	case map[string]any:
		kept := make(map[string]any, len(v))
		for name, member := range v {
			if member != nil {
				kept[name] = withoutNulls(member)
			}
		}
		return kept
	case []any:
		kept := make([]any, len(v))
		for i, element := range v {
			kept[i] = withoutNulls(element)
		}
		return kept
	}
	return value
}
