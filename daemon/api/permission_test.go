package api

import "testing"

func TestARuleForAFolderIsReadAsItWasWritten(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/", "/data", "/data/x:rw", "/data/x:rw:rw", "/a:b", `/a*\?b`} {
		for _, writable := range []bool{true, false} {
			rule := PermissionRule{Effect: EffectAllow, Rule: DirRule(path, writable)}
			if got, w, ok := DirOf(rule); got != path || w != writable || !ok {
				t.Errorf("%s is read as %s, %v, %v", rule.Rule, got, w, ok)
			}
		}
	}
}
