package cli

import "testing"

func TestNoColorOfTheEnvironmentReachesTheChat(t *testing.T) {
	for _, c := range []struct {
		setting, env string
		want         bool
	}{
		{"auto", "1", true}, {"auto", "", false}, {"always", "1", false}, {"never", "", true},
	} {
		t.Setenv("NO_COLOR", c.env)
		if got := noColor(c.setting); got != c.want {
			t.Errorf("color %s, NO_COLOR=%q: %v", c.setting, c.env, got)
		}
	}
}
