// Package tools is the table of built-in tools and what makes a Go function one of them.
//
// Promises: a tool's schema follows from its argument struct; arguments are decoded strictly, and what is wrong with
// them is told to the model by name; a fact is never written by Call, only by the Apply of its result.
//
// Layer 1: it imports core, the pure helpers and jsonschema-go. A new tool is a function in a package below and a row in
// catalog.go.
package tools
