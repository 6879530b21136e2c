// Package ingest turns what a file says into what an agent works with: it tells what kind of file it is, cuts the text
// of a document into chunks along its structure, numbers its lines for views, and searches them by regular expression.
//
// Everything here is a pure function of its arguments: no I/O, no clock but the one of a context, no state. The same
// document always gives the same lines and the same chunks. Chunks cover the text exactly once. Reading the formats
// themselves needs libraries and is the work of an adapter behind core.Parser.
package ingest
