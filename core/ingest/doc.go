// Package ingest turns a file's content into what an agent works with: it detects the kind of file, cuts a document's
// text into chunks along its structure, numbers its lines for views, and searches them by regular expression.
//
// Everything here is a pure function: no I/O, no clock except a context's, no state. The same document always gives the
// same lines and the same chunks. Chunks cover the text exactly once. Reading the formats themselves needs libraries and
// is left to an adapter behind core.Parser.
package ingest
