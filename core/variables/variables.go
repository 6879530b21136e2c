// Package variables gives tools what they find in their environment, and keeps those values out of everything else.
//
// Promises: a value is stored sealed; it is opened only for the call of a tool that is entitled to it, or for a person who asks
// for it; what a tool returns is shown and stored without it.
//
// Layer 2: it imports core.
package variables

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"loci/core"
)

// Config joins what Variables uses.
type Config struct {
	Store  core.Store
	Sealer core.Sealer
	Clock  func() time.Time
}

// Variables are the use cases of variables. Safe for concurrent use.
type Variables struct{ cfg Config }

// New returns the use cases on a store.
func New(cfg Config) *Variables { return &Variables{cfg: cfg} }

// Value is a variable that is to be set.
type Value struct {
	Name        string
	Value       core.Secret
	Description string
	Tools       []string // the built-in tools that get it too, by name
}

// Draft seals values for variables of an agent, or of the sandbox without one. They are stored by Put or Replace.
func (v *Variables) Draft(ctx context.Context, agent core.AgentID, values ...Value) ([]core.Variable, error) {
	if len(values) > core.MaxVariables {
		return nil, core.E(core.TooLarge, "there are %d variables; at most %d are possible", len(values), core.MaxVariables)
	}
	now := v.cfg.Clock()
	var out []core.Variable
	for _, in := range values {
		if err := core.ValidateVariableName(in.Name); err != nil {
			return nil, err
		}
		text := in.Value.Reveal()
		switch {
		case len(text) > core.MaxVariableValue:
			return nil, core.E(core.TooLarge, "%s has %d bytes; at most %d are kept", in.Name, len(text), core.MaxVariableValue)
		case strings.ContainsRune(text, 0):
			return nil, core.E(core.Invalid, "%s holds a zero byte, which no variable can", in.Name)
		}
		sealed, err := v.cfg.Sealer.Seal(ctx, in.Value, in.Name)
		if err != nil {
			return nil, err
		}
		one := core.Variable{
			ID: core.NewVariableID(agent), Agent: agent, Name: in.Name, Description: in.Description, Tools: in.Tools, Sealed: sealed,
			CreatedAt: now, UpdatedAt: now,
		}
		if err := one.Validate(); err != nil {
			return nil, err
		}
		out = append(out, one)
	}
	return out, nil
}

// Replace makes the given variables those that an agent has, within a transaction.
func Replace(ctx context.Context, tx core.Store, agent core.AgentID, all []core.Variable) error {
	old, err := tx.Variables().List(ctx, agent)
	if err != nil {
		return err
	}
	for _, was := range old {
		if slices.ContainsFunc(all, func(v core.Variable) bool { return v.Name == was.Name }) {
			continue
		}
		if err := tx.Variables().Delete(ctx, was.ID); err != nil {
			return err
		}
	}
	for _, one := range all {
		one.ID, one.Agent = core.NewVariableID(agent), agent
		if i := slices.IndexFunc(old, func(v core.Variable) bool { return v.Name == one.Name }); i >= 0 {
			one.Description, one.Tools = old[i].Description, old[i].Tools // a map has no place for them
		}
		if err := tx.Variables().Put(ctx, &one); err != nil {
			return err
		}
	}
	return nil
}

// Set stores one variable, in place of one of that name. What is not said of it stays: what it is for, and which tools get it.
func (v *Variables) Set(ctx context.Context, agent core.AgentID, in Value) (core.Variable, error) {
	made, err := v.Draft(ctx, agent, in)
	if err != nil {
		return core.Variable{}, err
	}
	one := made[0]
	err = v.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		all, err := tx.Variables().List(ctx, agent)
		if err != nil {
			return err
		}
		if i := slices.IndexFunc(all, func(v core.Variable) bool { return v.Name == one.Name }); i >= 0 {
			one.Description = cmp.Or(in.Description, all[i].Description)
			if len(in.Tools) == 0 {
				one.Tools = all[i].Tools
			}
		}
		return tx.Variables().Put(ctx, &one)
	})
	return one, err
}

// Remove deletes a variable by its name.
func (v *Variables) Remove(ctx context.Context, agent core.AgentID, name string) error {
	return v.cfg.Store.Tx(ctx, func(ctx context.Context, tx core.Store) error {
		all, err := tx.Variables().List(ctx, agent)
		if err != nil {
			return err
		}
		i := slices.IndexFunc(all, func(v core.Variable) bool { return v.Name == name })
		if i < 0 {
			return core.E(core.NotFound, "there is no variable %s", name).WithHint("`loci secrets list` shows those there are")
		}
		return tx.Variables().Delete(ctx, all[i].ID)
	})
}

// List returns the variables of an agent, or of the sandbox without one.
func (v *Variables) List(ctx context.Context, agent core.AgentID) ([]core.Variable, error) {
	if agent != "" {
		if _, err := v.cfg.Store.Agents().Get(ctx, agent); err != nil {
			return nil, err
		}
	}
	return v.cfg.Store.Variables().List(ctx, agent)
}

// Open returns the value of a variable.
func (v *Variables) Open(ctx context.Context, one *core.Variable) (core.Secret, error) {
	return v.cfg.Sealer.Open(ctx, one.Sealed, one.Name)
}

// Env is what a tool of an agent finds in its environment, as NAME=value: the agent's own variables before those of the sandbox.
func (v *Variables) Env(ctx context.Context, agent core.AgentID, tool *core.ToolInfo) ([]string, error) {
	all, err := v.reach(ctx, agent)
	if err != nil {
		return nil, err
	}
	var out, shut []string
	var why error
	for _, one := range all {
		if !one.For(tool) {
			continue
		}
		value, err := v.Open(ctx, &one)
		if err != nil {
			why = err
			shut = append(shut, one.Name)
			continue
		}
		out = append(out, one.Name+"="+value.Reveal())
	}
	if why != nil {
		return nil, core.E(core.KindOf(why), "%s (%w)", strings.Join(shut, ", "), why).
			WithHint("a person sets each again, `loci secrets set NAME`, or removes it: `loci secrets rm NAME`")
	}
	return out, nil
}

// Veil returns what takes the values of an agent's variables out of texts; nil: there are none. A value that can't be opened
// can't be taken out either, and no tool gets it.
func (v *Variables) Veil(ctx context.Context, agent core.AgentID) (*core.Veil, error) {
	all, err := v.reach(ctx, agent)
	if err != nil || len(all) == 0 {
		return nil, err
	}
	values := map[string]core.Secret{}
	for _, one := range all {
		if value, err := v.Open(ctx, &one); err == nil {
			values[one.Name] = value
		}
	}
	return core.NewVeil(values), nil
}

// reach returns the variables that tools of an agent may be given, each name once.
func (v *Variables) reach(ctx context.Context, agent core.AgentID) ([]core.Variable, error) {
	own, err := v.cfg.Store.Variables().List(ctx, agent)
	if err != nil {
		return nil, err
	}
	shared, err := v.cfg.Store.Variables().List(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, one := range shared {
		if !slices.ContainsFunc(own, func(v core.Variable) bool { return v.Name == one.Name }) {
			own = append(own, one)
		}
	}
	return own, nil
}

// Shut is a variable whose value can't be opened.
type Shut struct {
	Agent core.AgentID // empty: of the sandbox
	Name  string
	Why   string
}

// Shut tries to open all variables there are, and returns how many these are and those that can't be opened.
func (v *Variables) Shut(ctx context.Context) (count int, shut []Shut, err error) {
	agents, err := core.ListAll(func(p core.Page) ([]core.Agent, error) {
		return v.cfg.Store.Agents().List(ctx, core.AgentFilter{Hidden: true}, p)
	}, func(a core.Agent) string { return string(a.ID) })
	if err != nil {
		return 0, nil, err
	}
	owners := []core.AgentID{""}
	for i := range agents {
		owners = append(owners, agents[i].ID)
	}
	for _, owner := range owners {
		all, err := v.cfg.Store.Variables().List(ctx, owner)
		if err != nil {
			return 0, nil, err
		}
		for i := range all {
			count++
			if _, err := v.Open(ctx, &all[i]); err != nil {
				shut = append(shut, Shut{owner, all[i].Name, err.Error()})
			}
		}
	}
	return count, shut, nil
}
