// Package gemini speaks GenerateContent, over HTTP of our own: to Google's Gemini API, and to every server that offers the
// same wire under another address.
//
// What a model takes (levels or budgets of thinking, signatures, a schema beside tools) follows from its name and its
// listing, and what is refused all the same is left out of later requests for a while. A turn goes back part by part
// exactly as it came, with its thought signatures. The package knows no vendor and reads no variable; see protocol.
package gemini
