package backup

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"loci/core"
	"loci/storage"
	"loci/storage/datadir"
)

// held makes a backup bring a list of what waits, in which F is its folder and A its agent.
func held(list string) string {
	return `INSERT INTO meta (key, value) VALUES ('held', replace(replace('` + list + `', 'F', (SELECT id FROM folders)), 'A',
		(SELECT id FROM agents)))`
}

func TestWhatWaitsInABackupDoesOnlyWhatItShows(t *testing.T) {
	t.Parallel()
	for name, list := range map[string]string{
		"a folder of another path":  `[{"kind":"folder","id":"F","path":"/harmless","mirror":{"path":"/secret"}}]`,
		"a folder without a mirror": `[{"kind":"folder","id":"F","path":"/harmless"}]`,
		"a mirror with two paths":   `[{"kind":"mirror","id":"A","path":"/harmless","mirror":{"path":"/secret"}}]`,
		"a mirror of nobody":        `[{"kind":"mirror","path":"/harmless"}]`,
		"a kind unknown":            `[{"kind":"other","path":"/harmless"}]`,
		"a copy to be removed":      `[{"kind":"backup","path":"/harmless"}]`,
		"a part that is whole":      `[{"kind":"part","path":"/harmless","at":5}]`,
		"no path":                   `[{"kind":"mirror","id":"A"}]`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := restore(t, t.TempDir(), foreign(t, held(list))); core.KindOf(err) != core.Invalid || core.HintOf(err) == "" {
				t.Errorf("restore: %v (%s)", err, core.HintOf(err))
			}
		})
	}
}

func TestAsMuchWaitsAsMayAndNoMore(t *testing.T) {
	t.Parallel()
	for n, kind := range map[int]core.Kind{maxHeld: "", maxHeld + 1: core.Invalid} {
		list := make([]string, n)
		for i := range list {
			list[i] = fmt.Sprintf(`{"kind":"backup","path":"/%d","at":5}`, i)
		}
		if _, err := restore(t, t.TempDir(), foreign(t, held("["+strings.Join(list, ",")+"]"))); core.KindOf(err) != kind {
			t.Errorf("%d paths: %v", n, err)
		}
	}
}

func TestOnePathWaitsForEachAndOnlyAWholeOneIsAllowed(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := foreign(t,
		held(`[{"kind":"mirror","id":"A","path":"/older"},{"kind":"folder","id":"F","path":"/x/../etc","mirror":{"path":"/x/../etc"}},
			{"kind":"backup","path":"copy.db","at":5},{"kind":"backup","path":"copy.db","at":6}]`),
		`INSERT INTO mirrors (agent_id, path, branch, is_on, created_at) SELECT id, '/newer', 'main', 1, 7 FROM agents`,
	)
	if _, err := restore(t, dir, file); err != nil {
		t.Fatal(err)
	}
	s := open(t, storage.Config{Dir: dir})
	waiting, err := Waiting(t.Context(), dir)
	if err != nil {
		t.Fatal(err)
	}
	got := make([]string, len(waiting))
	for i, h := range waiting {
		got[i] = h.Path
	}
	if diff := cmp.Diff([]string{"/x/../etc", "copy.db", "/newer"}, got); diff != "" {
		t.Errorf("what waits (-want +got):\n%s", diff)
	}
	for _, path := range []string{"/x/../etc", "copy.db"} {
		pick := func(h Held) bool { return h.Path == path }
		if _, err := Settle(t.Context(), s, true, pick); core.KindOf(err) != core.Invalid {
			t.Errorf("allow %s: %v", path, err)
		}
		if _, err := Settle(t.Context(), s, false, pick); err != nil {
			t.Errorf("drop %s: %v", path, err)
		}
	}
}

func TestAConsentToSendTextsWaitsInARestoredHome(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := foreign(t,
		`INSERT INTO meta (key, value) VALUES ('embedding_endpoint:vendor/small', 'http://127.0.0.1:8099/v1')`,
		`INSERT INTO archives (id, name, folder_id, created_at, updated_at, data)
			VALUES ('archive-1', 'theirs', '', 1, 1, '{"embedding":"vendor/shown","EMBEDDING":"vendor/read"}')`,
		`UPDATE agents SET data = json_set(data, '$.embedding', 'vendor/agents')`,
	)
	if _, err := restore(t, dir, file); err != nil {
		t.Fatal(err)
	}
	s := open(t, storage.Config{Dir: dir})
	for _, model := range []string{"vendor/small", "vendor/read", "vendor/agents"} {
		if at, _, err := s.Meta().Get(t.Context(), core.MetaEmbeddingEndpoint+model); err != nil || at != core.EmbeddingHeld {
			t.Errorf("texts of %s are sent to %q, %v", model, at, err)
		}
	}
	if dropped, err := Settle(t.Context(), s, false, func(h Held) bool { return h.Kind == HeldModel }); err != nil || len(dropped) != 3 {
		t.Errorf("dropped %v, %v", dropped, err)
	}
	again := filepath.Join(t.TempDir(), "again.db") // a backup of the restored home brings nothing back
	if err := Write(t.Context(), s, again); err != nil {
		t.Fatal(err)
	}
	if _, err := restore(t, t.TempDir(), again); err != nil {
		t.Fatal(err)
	}
	if at, _, err := s.Meta().Get(t.Context(), core.MetaEmbeddingEndpoint+"vendor/small"); err != nil || at != core.EmbeddingHeld {
		t.Errorf("a dropped consent is %q, %v", at, err)
	}
}

func TestWhatWaitsIsOfAKindThatLociMakes(t *testing.T) {
	t.Parallel()
	mirror := &core.Mirror{Path: "/a"}
	for name, one := range map[string]struct {
		held Held
		good bool
	}{
		"a mirror":                 {Held{Kind: HeldMirror, ID: "agent-1", Path: "/a"}, true},
		"one of nobody":            {Held{Kind: HeldMirror, Path: "/a"}, false},
		"one with a folder's":      {Held{Kind: HeldMirror, ID: "agent-1", Path: "/a", Mirror: mirror}, false},
		"a folder":                 {Held{Kind: HeldFolder, ID: "source-1", Path: "/a", Mirror: mirror}, true},
		"one of no folder":         {Held{Kind: HeldFolder, Path: "/a", Mirror: mirror}, false},
		"one without a mirror":     {Held{Kind: HeldFolder, ID: "source-1", Path: "/a"}, false},
		"one of another path":      {Held{Kind: HeldFolder, ID: "source-1", Path: "/b", Mirror: mirror}, false},
		"a model":                  {Held{Kind: HeldModel, ID: "openai/e", Path: "openai/e"}, true},
		"one without a handle":     {Held{Kind: HeldModel, Path: "openai/e"}, false},
		"a model with a mirror":    {Held{Kind: HeldModel, ID: "openai/e", Path: "/a", Mirror: mirror}, false},
		"a part":                   {Held{Kind: HeldPart, Path: "/a", At: datadir.Unfinished}, true},
		"a part that is finished":  {Held{Kind: HeldPart, Path: "/a", At: 5}, false},
		"a backup":                 {Held{Kind: HeldBackup, Path: "/a", At: 5}, true},
		"a backup that is a part":  {Held{Kind: HeldBackup, Path: "/a", At: datadir.Unfinished}, false},
		"a backup of somebody":     {Held{Kind: HeldBackup, ID: "agent-1", Path: "/a", At: 5}, false},
		"a backup with a mirror":   {Held{Kind: HeldBackup, Path: "/a", At: 5, Mirror: mirror}, false},
		"a kind that nobody makes": {Held{Kind: "x", ID: "agent-1", Path: "/a"}, false},
		"no path":                  {Held{Kind: HeldMirror, ID: "agent-1"}, false},
	} {
		if err := one.held.check(); (err == nil) != one.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}
