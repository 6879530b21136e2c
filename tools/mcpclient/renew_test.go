package mcpclient_test

import (
	"context"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"loci/core"
	"loci/core/coretest"
)

// waiting is a server whose tool says that it was called, and returns once it is let.
func waiting(called chan<- struct{}, let <-chan struct{}) http.Handler {
	s := mcp.NewServer(&mcp.Implementation{Name: "waiting", Version: "1"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "wait"}, func(
		ctx context.Context, _ *mcp.CallToolRequest, _ struct{},
	) (*mcp.CallToolResult, any, error) {
		called <- struct{}{}
		select {
		case <-let:
		case <-ctx.Done():
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: "waited"}}}, nil, nil
	})
	return mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return s }, nil)
}

type returned struct {
	core.ToolResult
	err error
}

// calling makes a call that runs once it returns.
func (b *bench) calling(to core.MCPTarget, called <-chan struct{}) <-chan returned {
	b.Helper()
	hash, got := b.hash(to, "wait"), make(chan returned, 1)
	go func() {
		r, err := b.Call(b.Context(), to, core.MCPCall{Remote: "wait", Hash: hash})
		got <- returned{r, err}
	}()
	<-called
	return got
}

func TestACallOutlivesTheRenewalOfItsServer(t *testing.T) {
	t.Parallel()
	b := open(t)
	called, let := make(chan struct{}), make(chan struct{})
	to := website(t, waiting(called, let), "/", core.MCPHTTP)
	got := b.calling(to, called)
	release := sync.OnceFunc(func() { close(let) })
	t.Cleanup(release) // the site waits for what it was asked
	b.Renew(to.Server.ID)
	b.list(to)
	if n := b.Running(); n != 2 {
		t.Errorf("%d run: the call's, and a new one", n)
	}
	release()
	if r := <-got; r.err != nil || !strings.Contains(r.Text, "waited") {
		t.Errorf("%v %+v", r.err, r.ToolResult)
	}
	coretest.Until(t, "the old one ends with its last call", func() bool { return b.Running() == 1 })
	b.Renew(to.Server.ID)
	coretest.Until(t, "one that nobody uses ends at once", func() bool { return b.Running() == 0 })
}

func TestARemovedServerEndsAlsoWhereItWasRenewed(t *testing.T) {
	t.Parallel()
	b := open(t)
	called, let := make(chan struct{}), make(chan struct{})
	to := website(t, waiting(called, let), "/", core.MCPHTTP)
	t.Cleanup(func() { close(let) }) // the site waits for what it was asked
	got := b.calling(to, called)
	b.Renew(to.Server.ID)
	b.Drop(to.Server.ID)
	if r := <-got; r.err == nil || !strings.Contains(r.err.Error(), "was changed or removed") {
		t.Errorf("%v %+v", r.err, r.ToolResult)
	}
	coretest.Until(t, "nothing of it is left", func() bool { return b.Running() == 0 })
}
