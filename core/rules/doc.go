// Package rules solves tool rules: which tools may be called next, whether one must be, and whether a turn goes on.
//
// Promises: pure; the same input gives the same answers. A State stands for one step: it is made from the returns of the
// run so far and says what the step may offer, then what its calls mean. Rules that name tools which are not attached
// count for nothing. The offer shrinks only while a rule constrains the next call; otherwise it is all attached tools.
//
// Layer 1: it imports core only.
package rules
