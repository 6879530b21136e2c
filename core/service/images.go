package service

import (
	"context"

	"loci/core"
)

// Images are the use cases of images in messages.
type Images struct{ *parts }

// Take makes an image that can be sent of bytes that claim to be one, and keeps it.
func (i *Images) Take(ctx context.Context, data []byte, detail string) (core.Image, error) {
	if i.Pictures == nil {
		return core.Image{}, core.E(core.Unsupported, "no images can be read here")
	}
	p, err := i.Pictures.Read(ctx, data)
	if err != nil {
		return core.Image{}, err
	}
	if err := i.Store.Images().Put(ctx, p); err != nil {
		return core.Image{}, err
	}
	p.Detail = detail
	return p.Image, nil
}

// Fetch takes the image at an address.
func (i *Images) Fetch(ctx context.Context, address, detail string) (core.Image, error) {
	if i.Remote == nil {
		return core.Image{}, core.E(core.Unsupported, "images are not fetched from other servers here").
			WithHint("send the bytes of the image")
	}
	data, err := i.Remote.Fetch(ctx, address)
	if err != nil {
		return core.Image{}, err
	}
	return i.Take(ctx, data, detail)
}

// Get returns a kept image.
func (i *Images) Get(ctx context.Context, hash string) (core.Picture, error) {
	return i.Store.Images().Get(ctx, hash)
}

// Again returns a kept image as one of a new message. It is kept for as long as one that has just come.
func (i *Images) Again(ctx context.Context, hash, detail string) (core.Image, error) {
	p, err := i.Get(ctx, hash)
	if err == nil {
		err = i.Store.Images().Put(ctx, p)
	}
	p.Detail = detail
	return p.Image, err
}
