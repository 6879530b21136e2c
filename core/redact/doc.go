// Package redact replaces texts by a mark, in plain texts, in JSON and in documents, for forgetting.
//
// Its promises: what it returns contains none of the texts, in whatever common way they are escaped or accented; the
// structure and ids of a document stay, and so does every byte that isn't part of a text; long texts are also found by
// their parts. It is pure: it knows core's vocabulary and the helpers that write the lists in which records appear, and
// it does no I/O beyond the readers it is given.
package redact
