package daemon

import (
	"strings"
	"testing"

	"loci/core/variables"
	"loci/daemon/api"
	"loci/daemon/seal"
)

func TestTheDoctorSaysWhereTheKeyOfSecretsIsAndWhatItDoesNotOpen(t *testing.T) {
	t.Parallel()
	shut := func(names ...string) (out []variables.Shut) {
		for _, name := range names {
			out = append(out, variables.Shut{Name: name, Why: name + " was sealed with another key than this home has"})
		}
		return out
	}
	for want, tt := range map[string]struct {
		place seal.Place
		count int
		shut  []variables.Shut
		level string
	}{
		"2 secrets; their key lies in the keyring of the desktop": {seal.InKeyring, 2, nil, api.CheckOK},
		"1 secret; their key lies in a file":                      {seal.InFile, 1, nil, api.CheckOK},
		"0 secrets; there is no key yet":                          {seal.Nowhere, 0, nil, api.CheckOK},
		"1 of 3 secrets can't be opened: TOKEN (TOKEN was sealed": {seal.InFile, 3, shut("TOKEN"), api.CheckWarning},
		"7 of 9 secrets can't be opened: A, B, C, D, E and 2 more": {
			seal.InFile, 9, shut("A", "B", "C", "D", "E", "F", "G"), api.CheckWarning,
		},
	} {
		got := secretsCheck("secrets", tt.place, tt.count, tt.shut)
		helps := len(tt.shut) == 0 || strings.Contains(got.Fix, "loci secrets set")
		if !strings.HasPrefix(got.Detail, want) || got.Level != tt.level || !helps {
			t.Errorf("%+v, want %q", got, want)
		}
	}
}
