package core_test

import (
	"strings"
	"testing"

	"loci/core"
)

func TestAVeilTakesValuesOutInTheWaysTheyAreWritten(t *testing.T) {
	t.Parallel()
	pem := "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\nAQEFAASCBKcwggSjAgEAAoIB\n-----END KEY-----"
	v := core.NewVeil(map[string]core.Secret{
		"TOKEN": "s3cr3t/pa ss\"word", "LONGER": "s3cr3t/pa ss\"word-and-more", "SHORT": "on", "PEM": core.Secret(pem), "EMPTY": "",
		"LETTERS": "ünï-code-wert-𝄞", "LINES": "user=ada\npassword=x",
	})
	for text, want := range map[string]string{
		"a s3cr3t/pa ss\"word b":                        "a [secret TOKEN] b",
		"s3cr3t/pa ss\"word-and-more":                   "[secret LONGER]",
		`{"x":"s3cr3t/pa ss\"word"}`:                    `{"x":"[secret TOKEN]"}`,
		"?t=s3cr3t%2Fpa+ss%22word&":                     "?t=[secret TOKEN]&",
		`{"t": "\u00fcn\u00ef-code-wert-\ud834\udd1e"}`: `{"t": "[secret LETTERS]"}`,
		"user=ada password=x":                           "[secret LINES]",
		"its password=x, it seems":                      "its [secret LINES], it seems",
		"turn it on":                                    "turn it on",
		"x MIIEvQIBADANBgkqhkiG9w0B y":                  "x [secret PEM] y",
		pem:                                             "[secret PEM]",
		"nothing of it, s3cr3t on its own.":             "nothing of it, s3cr3t on its own.",
	} {
		if got := v.Text(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
	var none *core.Veil
	if got := none.Text("as it was"); got != "as it was" {
		t.Error(got)
	}
}

func TestWhatRemainsOfAValueThatWasCutIsFound(t *testing.T) {
	t.Parallel()
	const secret = "hunter2-and-a-half"
	v := core.NewVeil(map[string]core.Secret{"T": secret})
	for n := 3; n < len(secret); n++ {
		if _, tail := v.Cut("the rest: " + secret[:n]); tail != n {
			t.Errorf("%q: %d of %d at the end", secret[:n], tail, n)
		}
		if head, _ := v.Cut(secret[n:] + " and so on"); head != len(secret)-n && len(secret)-n >= 3 {
			t.Errorf("%q: %d of %d at the beginning", secret[n:], head, len(secret)-n)
		}
	}
	if head, tail := v.Cut(strings.Repeat("x", 100)); head != 0 || tail != 0 {
		t.Errorf("%d and %d of nothing", head, tail)
	}
}
