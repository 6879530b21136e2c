package daemon

import (
	"context"

	"loci/core"
	"loci/daemon/api"
)

// checkFollowed reports on the folders that follow a directory.
func (d *Daemon) checkFollowed(ctx context.Context) []api.Check {
	const name = "follow"
	store := d.current().store
	if store == nil {
		return nil
	}
	folders, err := core.ListAll(func(p core.Page) ([]core.Folder, error) {
		return store.Folders().List(ctx, core.FolderFilter{Mirrored: true}, p)
	}, func(f core.Folder) string { return string(f.ID) })
	if err != nil {
		return []api.Check{api.Broken(name, err.Error(), "loci daemon logs")}
	}
	var checks []api.Check
	for _, f := range folders {
		if f.Mirror.Error != "" {
			checks = append(checks, api.Warning(name, f.Name+": "+f.Mirror.Error, "loci folders show "+string(f.ID)))
			continue
		}
		checks = append(checks, api.Good(name, f.Name+" follows "+f.Mirror.Path))
	}
	return checks
}
