package cli

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"loci/daemon/api"
	"loci/daemon/client"
)

// answering returns a client of a daemon that gives the given answers.
func answering(t *testing.T, answers http.HandlerFunc) *client.Client {
	t.Helper()
	c := client.New(client.Options{Socket: socketOf(t, answers)})
	t.Cleanup(c.Close)
	return c
}

// socketOf returns the socket of a daemon that gives the given answers.
func socketOf(t *testing.T, answers http.Handler) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "loci") //nolint:usetesting // a socket's path must be short
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	socket := filepath.Join(dir, "s")
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := httptest.NewUnstartedServer(answers)
	_ = s.Listener.Close()
	s.Listener = listener
	s.Start()
	t.Cleanup(s.Close)
	return socket
}

func TestTheNameOfAnArchiveDrivesNoTerminal(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(`{"passages":3}`)) })
	var out, errOut bytes.Buffer
	a := &app{out: &out, errOut: &errOut}
	if err := a.reembed(t.Context(), c, api.Archive{Name: "notes\x1b]0;owned\a"}, "builtin/words", true); err != nil {
		t.Fatal(err)
	}
	if said := errOut.String(); strings.ContainsAny(said, "\x1b\a") || !strings.Contains(said, "notes") {
		t.Errorf("said %q", said)
	}
}

func TestEveryFileThatCouldNotBeReadIsNamed(t *testing.T) {
	t.Parallel()
	const there = 2*filesAtOnce + 1
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		from, _ := strconv.Atoi(r.URL.Query().Get("after"))
		limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
		page := []api.File{}
		for i := from + 1; i <= min(there, from+limit); i++ {
			page = append(page, api.File{ID: strconv.Itoa(i), ErrorMessage: api.PtrTo("it is broken")})
		}
		_ = json.NewEncoder(w).Encode(page)
	})
	j := &addition{c: c, ids: map[string]string{"0": "good"}}
	for i := range there {
		j.ids[strconv.Itoa(i+1)] = fmt.Sprint(i + 1)
	}
	if j.broken(t.Context()); j.err != nil || len(j.refused) != there || len(j.ids) != 1 {
		t.Errorf("%d refused, %d added, %v", len(j.refused), len(j.ids), j.err)
	}
}

func TestARunIsShownWithAllItsSteps(t *testing.T) {
	t.Parallel()
	const there = 150
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		var answer any = map[string]any{}
		switch _, what := filepath.Split(r.URL.Path); what {
		case "messages":
			answer = []api.Message{}
		case "steps":
			limit, _ := strconv.Atoi(r.URL.Query().Get("limit"))
			answer = make([]api.Step, min(cmp.Or(limit, 100), there))
		}
		_ = json.NewEncoder(w).Encode(answer)
	})
	var out bytes.Buffer
	a := &app{out: &out, json: true}
	if err := a.showRun(t.Context(), c, "run-1"); err != nil {
		t.Fatal(err)
	}
	var shown struct{ Steps []api.Step }
	if err := json.Unmarshal(out.Bytes(), &shown); err != nil || len(shown.Steps) != there {
		t.Errorf("%d of %d steps, %v", len(shown.Steps), there, err)
	}
}
