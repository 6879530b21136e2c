package search

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

func TestNamesInCodeAreFoundByTheirParts(t *testing.T) {
	t.Parallel()
	for text, want := range map[string][]string{
		"parseManifest":               {"parsemanifest", "pars", "manifest"},
		"TestRefundIdempotency":       {"testrefundidempot", "test", "refund", "idempot"},
		"ConnectionPool.acquire":      {"connectionpool", "connect", "pool", "acquir"},
		"the HTTPServerConfig":        {"httpserverconfig", "http", "server", "config"},
		"sha256Sum(x)":                {"sha256sum", "sha256", "sum", "x"},
		"openLine() and bad_OpenLine": {"openlin", "open", "line", "bad", "openlin", "open", "line"},
		// These are names, or nothing that anybody reads.
		"YouTube, iPhone and PayPal. McDonald": {"youtub", "iphon", "paypal", "mcdonald"},
		"LaTeX":                                {"latex"},
		"aGVsbG8gd29ybGQ":                      {"agvsbg8gd29ybgq"},
		"HELLO World":                          {"hello", "world"},
	} {
		if diff := cmp.Diff(want, Words(text), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s (-want +got):\n%s", text, diff)
		}
	}
	texts := []string{"MAX_RETRY_BACKOFF is 30 seconds", "parseManifest() fails", "the lake", "a boat"}
	for query, want := range map[string]string{
		"maxRetryBackoff": "0", "retry backoff": "0", "parse manifest": "1", "parse_manifest": "1", "parsemanifest": "1",
		`"parse manifest"`: "1",
	} {
		if got := found(query, texts...); got != want {
			t.Errorf("%s finds %q", query, got)
		}
	}
	if diff := cmp.Diff([]string{"Manifest"}, Surface("parseManifest()", []string{"manifest"})); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
