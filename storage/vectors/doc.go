// Package vectors finds the vectors nearest to a query among up to millions, on one or two cores, without reading their
// floats: each row is a 4-bit code of its rotated coordinates, and a cascade of ever finer estimates (sign against sign
// first, all bits last) lets through only rows that may still belong to the best. How deep it goes is decided by the
// data, never by a constant. The last few rows are scored with their floats, which stay where the facts are.
//
// Promises: near exact (recall of the ten best 0.99 and better, also without structure in the data); no training, so
// nothing decays; what was committed before a search began is found by it; a filter is applied before ranking. Codes live
// in a mapped file that is a cache of the facts: validated when it is opened, continued where it ends, and built anew in the
// background, searchable meanwhile, when it is missing, damaged, or of another state of the facts. Apply is the only way
// into it, at the start, after a crash and after a commit alike.
//
// Layer 1, a part of storage: standard library and x/sys for the mapping. It reads the facts through Source.
package vectors
