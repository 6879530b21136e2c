package tui

import (
	"testing"
)

func TestOnlyAPlainWordAfterASlashIsACommand(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		text, name, arg string
		ok              bool
	}{
		{"/help", "help", "", true},
		{"/model openai/gpt-5 ", "model", "openai/gpt-5", true},
		{"/memory\nhuman", "memory", "human", true},
		{"/", "", "", true},
		{"/etc/hosts has a wrong line", "etc/hosts", "", false},
		{"/etc/", "etc/", "", false},
		{"// a comment", "/", "", false},
		{"what is /etc", "", "", false},
	} {
		name, arg, ok := parseCommand(c.text)
		if ok != c.ok || ok && (name != c.name || arg != c.arg) {
			t.Errorf("%q: %q %q %v", c.text, name, arg, ok)
		}
	}
}
