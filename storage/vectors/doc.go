// Package vectors finds the vectors nearest to a query among up to millions, on one or two cores, without reading their
// floats. Each row is a 4-bit code of its rotated coordinates, and a cascade of ever finer estimates (signs against
// signs first, all bits last) lets through only rows that may still be among the best. The data decide how deep it goes,
// never a constant. The last few rows are scored with their floats, which stay with the facts.
//
// Promises: near exact (recall of the ten best is 0.99 or better, even if the data have no structure); no training, so
// nothing degrades over time; a search finds everything committed before it began; filters apply before ranking. Codes
// live in a mapped file that is a cache of the facts: it is validated when opened and continued where it ends. If it is
// missing, damaged or of another state of the facts, it is rebuilt in the background and is searchable meanwhile. Apply
// is the only way in: at startup, after a crash and after every commit.
//
// Layer 1, part of storage: the standard library, and x/sys for the mapping. It reads the facts through Source.
package vectors
