package command

import (
	"context"
	"errors"
	"net/http"
	"testing"

	"loci/core"
	"loci/core/coretest"
)

func TestACommandThatIsGivenUpIsNotSaidToFail(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://h/", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	s := New("box", []string{"tail", "-f", "/dev/null"}) // it never ends
	ended := make(chan error, 1)
	go func() { ended <- s.Sign(req) }()
	coretest.Until(t, "the command runs", func() bool { return len(s.slot) == 1 })
	cancel()
	if err := <-ended; !errors.Is(err, context.Canceled) || core.KindOf(err) == core.Unauthenticated {
		t.Errorf("it is %v", err)
	}
}
