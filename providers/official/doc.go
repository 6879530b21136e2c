// Package official proves the test servers of providertest by the vendors' official SDKs, so that our wires are tested
// against the vendors' idea of a wire and not against ours. It has tests only, in a module of its own: nothing that the
// program is built from depends on an SDK.
package official
