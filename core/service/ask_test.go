package service

import (
	"context"
	"errors"
	"testing"
	"time"

	"loci/core"
	"loci/core/await"
	"loci/core/engine"
	"loci/core/session"
	"loci/storage"
	"loci/tools"
)

// mute is a provider that never answers what models it has.
type mute struct {
	reach
	left chan struct{} // gets a value when somebody stops asking
}

func (m mute) First(ctx context.Context, _ core.Env) core.Reach {
	<-ctx.Done()
	m.left <- struct{}{}
	return core.Reach{}
}

func TestASessionIsOpenedWithoutWaitingForAProvider(t *testing.T) {
	t.Parallel()
	store, err := storage.Open(context.Background(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	models := mute{left: make(chan struct{}, 16)}
	box := tools.New()
	eng := engine.New(engine.Config{Store: store, Log: store.Events(), Models: models, Tools: box})
	s := New(Config{Store: store, Engine: eng, Models: models, Tools: box})
	begun := time.Now()
	c := register(t, s, session.Hello{Kind: core.ClientChat})
	made, err := s.Clients.Open(t.Context(), c, Open{})
	if err != nil || !made.AgentNew || !made.Agent.ModelAuto || made.Model.Handle != "" || made.Unreached != nil {
		t.Errorf("opened %+v, %v", made, err)
	}
	named, err := s.Clients.Open(t.Context(), c, Open{Run: "real/one"})
	if err != nil || named.Agent.ID != made.Agent.ID || named.Model.Handle != "real/one" {
		t.Errorf("opened %+v, %v", named, err)
	}
	if took := time.Since(begun); took > await.Most/2 {
		t.Errorf("it took %v", took)
	}
	s.Close() // who still asks is told to stop, and waited for
	if len(models.left) == 0 {
		t.Error("nobody was asked, or is asked still")
	}
	if err := errors.Join(eng.Shutdown(context.Background()), store.Close()); err != nil {
		t.Error(err)
	}
}

// unlisting answers which model it has, but never what else there is.
type unlisting struct{ reach }

func (unlisting) List(ctx context.Context, _ core.Env, _ core.ModelQuery) ([]core.ModelInfo, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestAnAgentIsMadeForASessionWithoutWaitingForAListing(t *testing.T) {
	t.Parallel()
	store, err := storage.Open(context.Background(), storage.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	models := unlisting{reach{"real/one"}}
	box := tools.New()
	eng := engine.New(engine.Config{Store: store, Log: store.Events(), Models: models, Tools: box})
	s := New(Config{Store: store, Engine: eng, Models: models, Tools: box})
	ctx, stop := context.WithTimeout(t.Context(), await.Most)
	defer stop()
	made, err := s.Clients.Open(ctx, register(t, s, session.Hello{Kind: core.ClientScript}), Open{Agent: OpenNew})
	if err != nil || made.Agent.Model != "real/one" {
		t.Errorf("made %+v, %v", made.Agent, err)
	}
	if ctx.Err() != nil {
		t.Error("it waited for the listing")
	}
	s.Close()
	if err := errors.Join(eng.Shutdown(context.Background()), store.Close()); err != nil {
		t.Error(err)
	}
}
