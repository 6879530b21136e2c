package client

import (
	"context"
	"encoding/json"

	"loci/daemon/api"
)

// InstallPackages installs what a tool asks for, and tells what is done meanwhile. It returns once all is there.
func (c *Client) InstallPackages(ctx context.Context, in api.InstallPackages, tell func(status string)) error {
	return c.events(ctx, request{method: post, path: api.PathToolPackages, body: in, accept: acceptStream, silence: pingSilence},
		func(data []byte) error {
			var p api.InstalledPackages
			switch err := json.Unmarshal(data, &p); {
			case err != nil:
				return badEvent(err)
			case p.Error != "":
				return &Error{Kind: p.Kind, Message: p.Error, Hint: p.Hint}
			case p.Status != "":
				tell(p.Status)
			}
			return nil
		},
	)
}
