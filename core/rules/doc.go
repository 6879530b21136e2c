// Package rules evaluates tool rules: which tools may be called next, whether one must be, and whether a turn goes on.
//
// Promises: pure; the same input gives the same answers. A State covers one step: it is made from the returns of the run
// so far and says what the step may offer, then what its calls lead to. Rules about tools that aren't attached are
// ignored. The offer shrinks only while a rule constrains the next call; otherwise it is all attached tools.
//
// Layer 1: it imports core only.
package rules
