package core

import "math/rand/v2"

var (
	adjectives = []string{
		"Amber", "Brave", "Bright", "Calm", "Candid", "Clever", "Copper", "Curious", "Deft", "Eager", "Early", "Fluent", "Gentle", "Golden",
		"Grand", "Hardy", "Honest", "Humble", "Jolly", "Keen", "Kind", "Lively", "Lucid", "Mellow", "Merry", "Mindful", "Nimble", "Noble",
		"Patient", "Plucky", "Polite", "Proud", "Quick", "Quiet", "Rapid", "Silver", "Sincere", "Steady", "Sturdy", "Sunny", "Swift",
		"Tidy", "Trusty", "Vivid", "Warm", "Wise", "Witty", "Zesty",
	}
	nouns = []string{
		"Acorn", "Badger", "Beacon", "Birch", "Brook", "Canyon", "Cedar", "Comet", "Compass", "Coral", "Crane", "Dolphin", "Ember",
		"Falcon", "Fern", "Finch", "Hazel", "Heron", "Island", "Juniper", "Kestrel", "Lantern", "Larch", "Lynx", "Maple", "Marten",
		"Meadow", "Meteor", "Nebula", "Oak", "Orbit", "Orchid", "Osprey", "Otter", "Pebble", "Pine", "Quartz", "Raven", "River", "Robin",
		"Sparrow", "Spruce", "Summit", "Tern", "Thistle", "Willow", "Wren",
	}
)

// RandomName makes an agent's name in the contract's form: an adjective and a noun in one word.
func RandomName() string {
	return adjectives[rand.N(len(adjectives))] + nouns[rand.N(len(nouns))] //nolint:gosec // a name is no secret
}
