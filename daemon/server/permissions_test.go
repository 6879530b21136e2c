package server

import (
	"net/http"
	"strings"
	"testing"

	"loci/core/permission"
	"loci/daemon/api"
)

// noRules are permissions without a rule.
type noRules struct{ Permissions }

func (noRules) Rules(string) (permission.Set, error) { return nil, nil }

func (noRules) Home() string { return "/home/ada" }

func TestACheckCountsTheRulesThatASessionWouldHave(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"), func(c *Config) { c.Parts.Permissions = noRules{} })
	check := func(allow ...string) reply {
		in := api.CheckPermission{Does: "shell", Subject: "touch x", Folder: "/home/ada/a", Allow: allow}
		return f.socket("POST", api.PathCheckPermissions, in, "")
	}
	for want, allow := range map[string][]string{"ask": nil, "allow": {"shell(touch *)"}} {
		if v := as[api.PermissionVerdict](check(allow...)); v.Effect != want {
			t.Errorf("with %q: %+v", allow, v)
		}
	}
	wrong := check("shell(touch *)", "shell(touch")
	if wrong.want(http.StatusBadRequest); !strings.Contains(string(wrong.body), "the bracket is not closed") {
		t.Errorf("a broken rule: %s", wrong.body)
	}
}
