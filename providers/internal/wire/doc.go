// Package wire holds what every protocol over HTTP needs: one HTTP transport, a watch for servers that go silent, a line
// reader with a limit, the classification of failures, and readers for reasoning and calls that arrive as plain text.
//
// It promises that every error it makes is a *core.Error of a kind that core.ChatModel names, with the provider flag set
// and no key in its text. It knows no protocol and no vendor; the protocol packages import it.
package wire
