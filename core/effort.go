package core

import "slices"

// Efforts are the words for how much a model may reason, least first; a model has some of them.
func Efforts() []string { return []string{"none", "minimal", "low", "medium", "high", "xhigh", "max"} }

// KnownEffort reports whether a word is one for a reasoning effort.
func KnownEffort(word string) bool { return slices.Contains(Efforts(), word) }
