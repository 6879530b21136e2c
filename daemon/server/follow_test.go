package server

import (
	"context"
	"net/http"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/daemon/api"
)

// trailing is a follower that notes what it was asked.
type trailing struct{ asked []string }

func (f *trailing) say(what string) (core.FollowState, error) {
	f.asked = append(f.asked, what)
	return core.FollowState{
		Mirror: &core.Mirror{
			Path:     "/d",
			LookedAt: time.Unix(1, 0),
			Error:    "gone",
		},
		Looking: true,
		Polled:  true,
		Waiting: 1,
		Done:    2,
		Failed:  3,
		Plan:    core.DirectoryPlan{Path: "/d", Files: 6, Bytes: 60, Skipped: map[core.SkipReason]int{core.SkipBinary: 4}},
	}, nil
}

func (f *trailing) Plan(_ context.Context, dir string) (core.DirectoryPlan, error) {
	s, err := f.say("plan " + dir)
	return s.Plan, err
}

func (f *trailing) State(context.Context, core.FolderID) (core.FollowState, error) {
	return f.say("state")
}

func (f *trailing) On(_ context.Context, _ core.FolderID, dir string) (core.FollowState, error) {
	return f.say("on " + dir)
}

func (f *trailing) Off(context.Context, core.FolderID) (core.FollowState, error) {
	return f.say("off")
}

func TestOnlyTheSocketNamesDirectoriesToFollow(t *testing.T) {
	t.Parallel()
	follower := &trailing{}
	f := newFixture(t, always("x"), func(c *Config) { c.Parts.Follower = follower })
	id := string(core.NewFolderID())
	path, plan := api.PathFolders+"/"+id+"/mirror", api.PathFolders+"/plan"
	f.call(http.MethodPut, path, api.SetFolderMirror{Path: "/d"}).want(http.StatusForbidden)
	f.call(http.MethodPost, plan, api.PlanMirror{Path: "/d"}).want(http.StatusForbidden)
	planned := api.MirrorPlan{Path: "/d", Files: 6, Bytes: 60, Skipped: map[string]int{api.SkipBinary: 4}}
	if diff := cmp.Diff(planned, as[api.MirrorPlan](f.socket(http.MethodPost, plan, api.PlanMirror{Path: "/d"}, ""))); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	for _, r := range []reply{
		f.socket(http.MethodPut, path, api.SetFolderMirror{Path: "/d"}, ""), f.call(http.MethodGet, path, nil),
		f.call(http.MethodDelete, path, nil),
	} {
		got := as[api.FolderMirror](r)
		if got.LookedAt == nil {
			t.Error("it does not say when it looked")
		}
		got.LookedAt = nil
		want := api.FolderMirror{
			FolderID: id,
			On:       true,
			Path:     "/d",
			Error:    "gone",
			Looking:  true,
			Polled:   true,
			Plan:     planned,
			Waiting:  1,
			Done:     2,
			Failed:   3,
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	}
	if diff := cmp.Diff([]string{"plan /d", "on /d", "state", "off"}, follower.asked); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
