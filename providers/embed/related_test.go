package embed

import (
	"crypto/sha256"
	"encoding/hex"
	"testing"

	"loci/core/search"
)

func TestTheTableOfRelativesIsTheCommittedOne(t *testing.T) {
	t.Parallel()
	const want = "457e442a8f3dd42fe406a6c01b3c77c716929b62a49da4664b44fd7e3142755b"
	sum := sha256.Sum256(relatives)
	if got := hex.EncodeToString(sum[:]); got != want {
		t.Errorf("related.bin has the hash %s, not %s", got, want)
	}
	if len(relatives) > 1_300_000 {
		t.Errorf("related.bin has %d bytes, more than 1.3 MB", len(relatives))
	}
	if _, err := loadRelatives(); err != nil {
		t.Fatal(err)
	}
}

func TestRelativesAreSaneAndNearestFirst(t *testing.T) {
	t.Parallel()
	near := func(word string) map[string]float64 {
		out, last := map[string]float64{}, 1.0
		for _, r := range Related(search.Words(word)[0]) {
			if r.Near > last || r.Near <= 0 {
				t.Errorf("%s of %s is %.2f near, after %.2f", r.Word, word, r.Near, last)
			}
			out[r.Word], last = r.Near, r.Near
		}
		return out
	}
	for word, relative := range map[string]string{
		"purchase": "buy", "fruit": "apple", "physician": "doctor", "colour": "color", "grey": "gray", "tyre": "tire",
		"seafood": "octopus",
	} {
		if near(word)[search.Words(relative)[0]] == 0 {
			t.Errorf("%s is no relative of %s", relative, word)
		}
	}
	for word, stranger := range map[string]string{"July": "June", "Monday": "Tuesday", "hot": "cold", "Paris": "London"} {
		if n := near(word)[search.Words(stranger)[0]]; n > 0 {
			t.Errorf("%s is %.2f near to %s", stranger, n, word)
		}
	}
	if got := Related("nosuchword"); got != nil {
		t.Errorf("an unknown word has the relatives %v", got)
	}
}
