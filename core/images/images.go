// Package images takes and keeps the images of messages: as bytes, from an address, or again.
package images

import (
	"context"

	"loci/core"
)

// Images are the use cases of images in messages.
type Images struct {
	store  core.Store
	reader core.ImageReader
	remote core.ImageFetcher
}

// New returns the use cases over a store. Without a reader no images are taken, without remote none from other servers.
func New(store core.Store, reader core.ImageReader, remote core.ImageFetcher) *Images {
	return &Images{store: store, reader: reader, remote: remote}
}

// Take makes an image that can be sent of bytes that claim to be one, and keeps it.
func (i *Images) Take(ctx context.Context, data []byte, detail string) (core.Image, error) {
	if i.reader == nil {
		return core.Image{}, core.E(core.Unsupported, "no images can be read here")
	}
	p, err := i.reader.Read(ctx, data)
	if err != nil {
		return core.Image{}, err
	}
	if err := i.store.Images().Put(ctx, p); err != nil {
		return core.Image{}, err
	}
	p.Detail = detail
	return p.Image, nil
}

// Fetch takes the image at an address.
func (i *Images) Fetch(ctx context.Context, address, detail string) (core.Image, error) {
	if i.remote == nil {
		return core.Image{}, core.E(core.Unsupported, "images are not fetched from other servers here").
			WithHint("send the bytes of the image")
	}
	data, err := i.remote.Fetch(ctx, address)
	if err != nil {
		return core.Image{}, err
	}
	return i.Take(ctx, data, detail)
}

// Get returns a kept image.
func (i *Images) Get(ctx context.Context, hash string) (core.Picture, error) {
	return i.store.Images().Get(ctx, hash)
}

// Again returns a kept image as one of a new message. It is kept for as long as one that has just come.
func (i *Images) Again(ctx context.Context, hash, detail string) (core.Image, error) {
	p, err := i.Get(ctx, hash)
	if err == nil {
		err = i.store.Images().Put(ctx, p)
	}
	p.Detail = detail
	return p.Image, err
}
