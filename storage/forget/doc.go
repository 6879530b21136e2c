// Package forget removes a text, or a record with its copies, from a home for good.
//
// Its promises: one transaction changes every place in the facts that may hold texts, and a test checks that no column
// is missed; derived files are cleaned right after that, or after a crash at the next opening; copies that it must not
// touch are listed. The daemon builds it on top of storage's transaction; storage's root package doesn't know it. What a
// text is replaced by is up to core/redact.
package forget
