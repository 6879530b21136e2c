package api

import (
	"fmt"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"
)

const (
	timeLayout = "2006-01-02T15:04:05.000000Z07:00"
	dateLayout = "2006-01-02T15:04:05Z07:00"
)

// Time is a time with microsecond precision, as the contract writes it everywhere except in messages.
type Time struct{ time.Time }

// At returns a time in UTC.
func At(t time.Time) Time { return Time{t.UTC()} }

// AtPtr returns a time in UTC, or nil for the zero time.
func AtPtr(t time.Time) *Time {
	if t.IsZero() {
		return nil
	}
	return &Time{t.UTC()}
}

// AtText returns a time as the bound of a search, or nil for the zero time.
func AtText(t time.Time) *string {
	if t.IsZero() {
		return nil
	}
	text := t.UTC().Format(timeLayout)
	return &text
}

// MarshalJSON writes the time with microseconds.
func (t Time) MarshalJSON() ([]byte, error) {
	return []byte(`"` + t.UTC().Format(timeLayout) + `"`), nil
}

// UnmarshalJSON accepts every format that ParseTime does.
func (t *Time) UnmarshalJSON(data []byte) error {
	v, err := unquoteTime(data)
	t.Time = v
	return err
}

// Schema is a plain string: a format would reject spellings that clients send.
func (Time) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

// Date is the time of a message, with a precision of one second.
type Date struct{ time.Time }

// On returns the time of a message, truncated to seconds, in UTC.
func On(t time.Time) Date { return Date{t.UTC().Truncate(time.Second)} }

// MarshalJSON writes the time in seconds.
func (d Date) MarshalJSON() ([]byte, error) {
	return []byte(`"` + d.UTC().Format(dateLayout) + `"`), nil
}

// UnmarshalJSON accepts every format that ParseTime does.
func (d *Date) UnmarshalJSON(data []byte) error {
	v, err := unquoteTime(data)
	d.Time = v
	return err
}

// Schema is a plain string.
func (Date) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

// ParseTime parses ISO 8601 as clients write it: the offset (default: the given zone), the seconds and the whole time
// of day are optional. dateOnly reports that there was no time of day, for ranges that include their whole last day.
func ParseTime(s string, zone *time.Location) (t time.Time, dateOnly bool, err error) {
	if zone == nil {
		zone = time.UTC
	}
	s = strings.TrimSpace(s)
	if t, err := time.ParseInLocation(time.DateOnly, s, zone); err == nil {
		return t, true, nil
	}
	for _, layout := range []string{
		time.RFC3339Nano, "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00",
		"2006-01-02T15:04:05", "2006-01-02 15:04:05", "2006-01-02T15:04",
	} {
		if t, err := time.ParseInLocation(layout, s, zone); err == nil {
			return t, false, nil
		}
	}
	return time.Time{}, false, fmt.Errorf("%q is not a time: write it like 2006-01-02T15:04:05Z", s)
}

func unquoteTime(data []byte) (time.Time, error) {
	s := string(data)
	if s == "null" {
		return time.Time{}, nil
	}
	if len(s) < 2 || s[0] != '"' || s[len(s)-1] != '"' {
		return time.Time{}, fmt.Errorf("a time must be a string")
	}
	t, _, err := ParseTime(s[1:len(s)-1], time.UTC)
	return t, err
}
