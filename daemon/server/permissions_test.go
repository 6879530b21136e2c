package server

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"loci/core"
	"loci/core/permission"
	"loci/daemon/api"
)

// noRules are permissions without a rule.
type noRules struct{ Permissions }

func (noRules) List(string) (permission.Set, []string, error) { return nil, nil, nil }

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
		"allow": {Does: "write", Tool: "patch", Subject: "go.mod", Allow: []string{"patch"}},
		"ask":   {Does: "write", Tool: "write", Subject: "go.mod", Allow: []string{"patch"}},
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

func TestASessionsRulesAreListedAddedAndRemovedByItAlone(t *testing.T) {
	t.Parallel()
	f := newFixture(t, always("ok"), func(c *Config) { c.Parts.Permissions = noRules{} })
	register := func() string {
		return as[api.Session](f.socket("POST", api.PathClients, api.Client{Kind: api.ClientChat}, "")).Client
	}
	one, other := register(), register()
	listed := func(client string) (rules []string) {
		for _, r := range as[api.Permissions](f.socket("GET", api.PathPermissions, nil, client)).Rules {
			rules = append(rules, r.Effect+" "+r.Rule)
		}
		return rules
	}
	for _, effect := range []string{"allow", "deny"} {
		rule := api.PermissionRule{Effect: effect, Rule: effect + "_it", Session: true}
		f.socket("POST", api.PathPermissions, rule, one).want(http.StatusOK)
	}
	if got := strings.Join(listed(one), ", "); got != "deny deny_it, allow allow_it" || len(listed(other)) > 0 {
		t.Errorf("%s; another has %q", got, listed(other))
	}
	ask := api.PermissionRule{Effect: "ask", Rule: "shell", Session: true}
	f.socket("POST", api.PathPermissions, ask, one).want(http.StatusBadRequest)
	f.socket("POST", api.PathPermissions, api.PermissionRule{Effect: "allow", Rule: "shell", Session: true}, "").want(http.StatusBadRequest)
	f.socket("DELETE", api.PathPermissions+"?session=true&rule=deny_it", nil, other).want(http.StatusNotFound)
	f.socket("DELETE", api.PathPermissions+"?session=true&rule=deny_it", nil, one).want(http.StatusOK)
	if got := strings.Join(listed(one), ", "); got != "allow allow_it" {
		t.Error(got)
	}
}

func TestADecisionIsReadOffAReturn(t *testing.T) {
	t.Parallel()
	for want, r := range map[string]core.ToolReturn{
		"false a person: no":     {Name: "x", IsError: true, Text: core.DenialText("no")},
		"false a person":         {Name: "x", IsError: true, Text: core.DenialText("")},
		"false The rule forbids": {Name: "x", IsError: true, Text: "Error executing function x: PermissionError: The rule forbids"},
		"true the mode ask":      {Name: "x", Text: "done", Passed: "the mode ask"},
		"false ":                 {Name: "x", IsError: true, Text: "Error executing function x: it broke"},
	} {
		by, allowed := decidedBy(r)
		if got := fmt.Sprint(allowed, " ", by); got != want {
			t.Errorf("%q: %s, want %s", r.Text, got, want)
		}
	}
}
