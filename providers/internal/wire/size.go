package wire

import (
	"strconv"
	"strings"
)

// Size is a number of tokens in any form that servers send: 12, 12.0 or "12". Anything but a number means unknown.
type Size int

// maxTokens is more than any model accepts.
const maxTokens = 1 << 30

// UnmarshalJSON implements json.Unmarshaler.
func (s *Size) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(data), `" `), 64)
	if err == nil && n > 0 && n <= maxTokens {
		*s = Size(n)
	}
	return nil
}

// Count is any other number, like that of a model's parameters, in any form that servers send.
type Count int64

// maxCount is more than any model has of anything.
const maxCount = 1 << 52

// UnmarshalJSON implements json.Unmarshaler.
func (c *Count) UnmarshalJSON(data []byte) error {
	n, err := strconv.ParseFloat(strings.Trim(string(data), `" `), 64)
	if err == nil && n > 0 && n <= maxCount {
		*c = Count(n)
	}
	return nil
}
