//go:build linux

package shell_test

import (
	"strings"
	"testing"

	"loci/core"
)

func TestALineUsesASecretAndItsOutputDoesNotShowIt(t *testing.T) {
	t.Parallel()
	p := open(t)
	const secret = "hunter2-and-a-half"
	p.is(p.line(`echo "[${TOKEN-none}]"`), "Exit code 0.\n[none]")
	p.env.Variables = []string{"TOKEN=" + secret}
	p.env.Veil = core.NewVeil(map[string]core.Secret{"TOKEN": secret})
	p.is(p.line(`echo "${#TOKEN} $TOKEN"`), "Exit code 0.\n18 [secret TOKEN]")
	p.is(p.line(`printf 'hunter2\033[1m-and-a-half\n'`), "Exit code 0.\n[secret TOKEN]")

	// Wherever a long output is cut, no part of it remains.
	for _, at := range []string{"10230", "10236", "10239"} {
		text := p.line(`head -c ` + at + ` /dev/zero | tr '\0' x; printf %s "$TOKEN"; head -c 40000 /dev/zero | tr '\0' y`)
		if strings.Contains(text, "hun") || strings.Contains(text, "half") || !strings.Contains(text, "are left out here") {
			t.Errorf("cut at %s: %q", at, text[10200:10400])
		}
	}
}
