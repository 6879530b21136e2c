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

func TestACheckKnowsTheToolAndTheArgumentsThatRulesName(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"), func(c *Config) { c.Parts.Permissions = noRules{} })
	check := func(in api.CheckPermission) string {
		in.Folder = "/home/ada/a"
		return as[api.PermissionVerdict](f.socket("POST", api.PathCheckPermissions, in, "")).Effect
	}
	for want, in := range map[string]api.CheckPermission{
		"allow": {Does: "write", Tool: "edit", Subject: "go.mod", Allow: []string{"edit(go.mod)"}},
		"ask":   {Does: "write", Tool: "write", Subject: "go.mod", Allow: []string{"edit(go.mod)"}},
	} {
		if got := check(in); got != want {
			t.Errorf("%+v: %s", in, got)
		}
	}
	deploy := api.CheckPermission{Does: "deploy", Arguments: `{"stage":"test-1"}`, Allow: []string{"deploy(stage=test*)"}}
	if got := check(deploy); got != "allow" {
		t.Errorf("a rule about an argument: %s", got)
	}
	if deploy.Arguments = `{"stage":"live"}`; check(deploy) != "ask" {
		t.Error("another value of the argument is allowed")
	}
	deploy.Arguments = "["
	if broken := f.socket("POST", api.PathCheckPermissions, deploy, ""); broken.status != http.StatusBadRequest {
		t.Errorf("broken arguments: %d %s", broken.status, broken.body)
	}
}
