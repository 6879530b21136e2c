package server

import (
	"loci/core"
	"loci/core/service"
	"loci/daemon/api"
)

// The keys of a block that are stored and shown, but that nothing here reads.
const (
	extraTemplateName = "template_name"
	extraIsTemplate   = "is_template"
	extraDeployment   = "deployment_id"
	extraEntity       = "entity_id"
	extraPreserve     = "preserve_on_migration"
)

// wireBlock converts a block.
func wireBlock(b core.Block) api.Block {
	tags := b.Tags
	if tags == nil {
		tags = []string{}
	}
	out := api.Block{
		ID: string(
			b.ID,
		),
		Label:        wireText(b.Label),
		Value:        b.Value,
		Limit:        b.Limit,
		ReadOnly:     b.ReadOnly,
		Description:  api.PtrTo(b.Description),
		Metadata:     b.Metadata,
		Hidden:       &b.Hidden,
		Tags:         tags,
		ProjectID:    extraText(b.Extra, extraProject),
		TemplateName: extraText(b.Extra, extraTemplateName),
		TemplateID: extraText(
			b.Extra,
			extraTemplate,
		),
		BaseTemplateID: extraText(b.Extra, extraBase),
		DeploymentID:   extraText(b.Extra, extraDeployment),
		EntityID:       extraText(b.Extra, extraEntity),
	}
	out.IsTemplate, _ = b.Extra[extraIsTemplate].(bool)
	if preserve, ok := b.Extra[extraPreserve].(bool); ok {
		out.PreserveOnMigration = &preserve
	}
	return out
}

// coreBlock converts the body that creates a block.
func coreBlock(in api.CreateBlock) core.Block {
	extra := map[string]any{}
	keep(extra, extraProject, in.ProjectID)
	keep(extra, extraTemplateName, in.TemplateName)
	keep(extra, extraIsTemplate, in.IsTemplate)
	keep(extra, extraTemplate, in.TemplateID)
	keep(extra, extraBase, in.BaseTemplateID)
	keep(extra, extraDeployment, in.DeploymentID)
	keep(extra, extraEntity, in.EntityID)
	keep(extra, extraPreserve, in.PreserveOnMigration)
	out := core.Block{
		Label:       in.Label,
		Value:       in.Value,
		Description: api.Val(in.Description),
		ReadOnly:    api.Val(in.ReadOnly),
		Metadata:    in.Metadata,
		Tags:        in.Tags,
		Hidden:      api.Val(in.Hidden),
		Extra:       extra,
	}
	if in.Limit != nil {
		out.Limit = *in.Limit
		if out.Limit == 0 {
			out.Limit = -1 // sent, and invalid: only an absent limit gets the default
		}
	}
	return out
}

// coreBlockPatch converts the body that updates a block.
func coreBlockPatch(in api.UpdateBlock) service.BlockPatch {
	extra := map[string]any{}
	change(extra, extraProject, in.ProjectID)
	change(extra, extraTemplateName, in.TemplateName)
	change(extra, extraIsTemplate, in.IsTemplate)
	change(extra, extraTemplate, in.TemplateID)
	change(extra, extraBase, in.BaseTemplateID)
	change(extra, extraDeployment, in.DeploymentID)
	change(extra, extraEntity, in.EntityID)
	change(extra, extraPreserve, in.PreserveOnMigration)
	return service.BlockPatch{
		Label:       opt(in.Label),
		Value:       opt(in.Value),
		Description: opt(in.Description),
		Limit:       opt(in.Limit),
		ReadOnly:    opt(in.ReadOnly),
		Hidden: opt(
			in.Hidden,
		),
		Tags:     opt(in.Tags),
		Metadata: optAs(in.Metadata, func(o api.Object) map[string]any { return o }),
		Extra:    extra,
	}
}
