// Package arguments reads the arguments of a tool call: JSON that is broken in exactly one unambiguous way is mended, and
// what it holds is checked against the tool's schema, every fault with its path.
//
// Promises: pure, the same text gives the same arguments. Size, depth, the number of faults told and the work that a
// schema may cause are bounded; no schema is loaded from anywhere. A schema that can't be judged within these bounds is
// said so and judges nothing.
//
// Layer 1: it imports core.
package arguments
