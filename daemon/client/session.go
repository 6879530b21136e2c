package client

import (
	"context"
	"errors"
	"io"
	"slices"
	"syscall"

	"loci/daemon/api"
)

// Register identifies the client and, with Open, finds or creates the agent to talk to. Later calls carry the
// session. If the client may start daemons, an idle daemon of another version is replaced first.
func (c *Client) Register(ctx context.Context, who api.Client) (api.Session, error) {
	session, err := c.register(ctx, who)
	if err != nil || session.daemon == "" || c.opts.Version == "" || session.daemon == c.opts.Version || c.opts.Ensure == nil {
		return session.Session, err
	}
	result, err := c.ensure(ctx)
	if err != nil || !result.Started {
		return session.Session, err
	}
	if who.Open != nil {
		// Don't create again what the old daemon already created.
		open := *who.Open
		open.Agent, open.Conversation = session.AgentID, session.ConversationID
		who.Open = &open
	}
	again, err := c.register(ctx, who)
	again.AgentNew = again.AgentNew || session.AgentNew
	return again.Session, err
}

type modeKey struct{}

// InMode gives the session a permission mode from the message or the answer on that is sent with ctx.
func InMode(ctx context.Context, mode string) context.Context {
	return context.WithValue(ctx, modeKey{}, mode)
}

// ModeOf returns what InMode was told, or "".
func ModeOf(ctx context.Context) string {
	mode, _ := ctx.Value(modeKey{}).(string)
	return mode
}

type effortKey struct{}

// WithEffort gives the run that a message or an answer begins, sent with ctx, a reasoning effort; "" is its agent's.
func WithEffort(ctx context.Context, effort string) context.Context {
	return context.WithValue(ctx, effortKey{}, effort)
}

// effortOf returns what WithEffort was told.
func effortOf(ctx context.Context) *string {
	effort, _ := ctx.Value(effortKey{}).(string)
	return api.PtrTo(effort)
}

// allowed remembers rules that the session was given with an answer, so that they still count after a restart of the daemon.
func (c *Client) allowed(rules []string) {
	c.renewRules(func(who *api.Client) {
		who.Allow = slices.Clone(who.Allow)
		for _, rule := range rules {
			if !slices.Contains(who.Allow, rule) {
				who.Allow = append(who.Allow, rule)
			}
		}
	})
}

type registration struct {
	api.Session
	daemon string // its version
}

func (c *Client) register(ctx context.Context, who api.Client) (registration, error) {
	r := request{method: post, path: api.PathClients, body: who, bare: true}
	session, header, err := callHeader[api.Session](ctx, c, r)
	if cutOff(err) && (who.Open == nil || who.Open.Agent != api.OpenNew) {
		// A daemon that was killed a moment ago may still accept a connection. Registering twice creates nothing
		// twice.
		session, header, err = callHeader[api.Session](ctx, c, r)
	}
	if err != nil {
		return registration{}, err
	}
	who.Open = nil
	c.mu.Lock()
	defer c.mu.Unlock()
	c.registered, c.session = &who, session.Client
	return registration{session, header.Get(api.HeaderVersion)}, nil
}

// registerAgain replaces a session that the daemon has forgotten, unless another goroutine already has.
func (c *Client) registerAgain(ctx context.Context, forgotten string) error {
	c.renew.Lock()
	defer c.renew.Unlock()
	c.mu.Lock()
	who, current := c.registered, c.session
	c.mu.Unlock()
	if current != forgotten || who == nil {
		return nil
	}
	_, err := c.register(ctx, *who)
	return err
}

// cutOff reports whether the connection ended before any response came.
func cutOff(err error) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == 0 &&
		(errors.Is(e.Err, syscall.ECONNRESET) || errors.Is(e.Err, syscall.EPIPE) || errors.Is(e.Err, io.EOF) ||
			errors.Is(e.Err, io.ErrUnexpectedEOF))
}
