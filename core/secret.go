package core

import "log/slog"

// Secret is a text that prints as dots everywhere; only Reveal returns it.
type Secret string

const redacted = "••••"

// Reveal returns the text itself.
func (s Secret) Reveal() string { return string(s) }

// String, GoString, MarshalJSON and LogValue all hide the text.
func (s Secret) String() string               { return redacted }
func (s Secret) GoString() string             { return redacted }
func (s Secret) MarshalJSON() ([]byte, error) { return []byte(`"` + redacted + `"`), nil }
func (s Secret) LogValue() slog.Value         { return slog.StringValue(redacted) }
