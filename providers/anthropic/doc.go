// Package anthropic speaks the Messages API, over HTTP of our own: to Anthropic, and to every server that offers the same
// wire under another address.
//
// What a model takes (kinds of thinking, efforts, sampling, forced tools) is read from the listing, else assumed from its
// name, and what is refused all the same is left out of later requests for a while. A turn goes back exactly as it came,
// with its signed thinking. The package knows no vendor and reads no variable; see protocol.
package anthropic
