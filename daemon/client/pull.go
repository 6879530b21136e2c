package client

import (
	"context"
	"encoding/json"
	"errors"
	"iter"

	"loci/daemon/api"
)

// PullModel has a server download a model, and yields how far it is until it is done. Leaving the sequence stops the download.
func (c *Client) PullModel(ctx context.Context, name string) iter.Seq2[api.PulledModel, error] {
	return func(yield func(api.PulledModel, error) bool) {
		err := c.events(
			ctx,
			request{method: post, path: api.PathPull, body: api.PullModel{Name: name}, accept: acceptStream, silence: pingSilence},
			func(data []byte) error {
				var p api.PulledModel
				switch err := json.Unmarshal(data, &p); {
				case err != nil:
					return badEvent(err)
				case p.Error != "":
					return &Error{Kind: p.Kind, Message: p.Error, Hint: p.Hint}
				case !yield(p, nil):
					return errStopped
				}
				return nil
			},
		)
		if err != nil && !errors.Is(err, errStopped) {
			yield(api.PulledModel{}, err)
		}
	}
}
