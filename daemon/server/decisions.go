package server

import (
	"context"
	"slices"
	"strings"

	"loci/core"
	"loci/core/permission"
	"loci/daemon/api"
)

// addToSession gives the client session that asks a rule of its own. A session has none that only asks.
func (s *Server) addToSession(ctx context.Context, rule api.PermissionRule) error {
	if _, err := permission.Parse(permission.Effect(rule.Effect), rule.Rule, permission.FromSession); err != nil {
		return err
	}
	return s.changeSession(ctx, func(c *core.Client) (err error) {
		switch rule.Effect {
		case api.EffectAllow:
			c.Rules, err = c.Rules.Allowing(rule.Rule)
		case api.EffectDeny:
			c.Rules.Deny = append(slices.Clone(c.Rules.Deny), rule.Rule)
			err = c.Rules.Validate()
		default:
			err = core.E(core.Invalid, "a session has rules that allow and that deny; its mode says what asks")
		}
		return err
	})
}

// removeFromSession takes a rule of the client session that asks.
func (s *Server) removeFromSession(ctx context.Context, rule string) error {
	return s.changeSession(ctx, func(c *core.Client) error {
		is := func(r string) bool { return r == rule }
		before := len(c.Rules.Allow) + len(c.Rules.Deny)
		c.Rules.Allow = slices.DeleteFunc(slices.Clone(c.Rules.Allow), is)
		c.Rules.Deny = slices.DeleteFunc(slices.Clone(c.Rules.Deny), is)
		if len(c.Rules.Allow)+len(c.Rules.Deny) == before {
			return core.E(core.NotFound, "this session has no rule %q", rule)
		}
		return nil
	})
}

func (s *Server) changeSession(ctx context.Context, change func(*core.Client) error) error {
	id := callOf(ctx).client.ID
	if id == "" {
		return core.E(core.Invalid, "rules for the session come from a client that has one")
	}
	_, err := s.services().Sessions.Change(id, change)
	return err
}

// listDecisions says what decided the last calls of a conversation. A call that needed no permission isn't among them.
func (s *Server) listDecisions(ctx context.Context, in *api.ListDecisions) (*body[api.DecisionList], error) {
	if err := local(ctx); err != nil {
		return nil, err
	}
	agent := core.AgentID(in.AgentID)
	conversation := core.ConversationID(in.ConversationID)
	if conversation == "" {
		conversation = core.ConversationID(in.AgentID)
	}
	filter := core.MessageFilter{
		Agent: agent, Conversation: conversation, Roles: []core.Role{core.RoleTool, core.RoleAssistant, core.RoleApproval},
		IncludeErr: true,
	}
	found, err := s.services().Messages.Ordered(ctx, filter, core.Page{Limit: 3 * in.Limit, Desc: true}, nil)
	if err != nil {
		return nil, err
	}
	subjects := map[string]string{}
	for i := range found {
		for _, c := range found[i].Calls() {
			subjects[c.ID] = c.Arguments
		}
	}
	out := api.DecisionList{Decisions: []api.CallDecision{}}
	for i := range found {
		for _, r := range found[i].Returns {
			by, allowed := decidedBy(r)
			if by == "" || len(out.Decisions) == in.Limit {
				continue
			}
			out.Decisions = append(out.Decisions, api.CallDecision{
				ToolCallID: r.CallID, Tool: r.Name, Subject: subjects[r.CallID], Allowed: allowed, By: by, At: api.At(found[i].CreatedAt),
				Layers: r.Layers,
			})
		}
	}
	return answer(out, nil)
}

// decidedBy reads off a return what decided its call; empty: nothing had to.
func decidedBy(r core.ToolReturn) (by string, allowed bool) {
	if reason, denied := core.DenialReason(r.Text); denied && r.IsError {
		if reason != "" {
			return "a person: " + reason, false
		}
		return "a person", false
	}
	why, refused := strings.CutPrefix(r.Text, "Error executing function "+r.Name+": PermissionError: ")
	if refused && r.IsError {
		return why, false
	}
	return r.Passed, r.Passed != ""
}
