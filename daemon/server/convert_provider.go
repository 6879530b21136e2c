package server

import (
	"slices"

	"loci/core"
	"loci/daemon/api"
)

// listedType returns the first of names that one of the contract's enumerations has, or else the protocol that most servers
// speak: clients reject unknown values or decode them to nothing.
func listedType(enum []string, names ...string) string {
	for _, name := range names {
		if slices.Contains(enum, name) {
			return name
		}
	}
	return "openai"
}

// providerType is the contract's word for a model's provider. Built-in models belong to the server itself, which the
// contract calls letta.
func providerType(provider, protocol string) string {
	if provider == core.OfflineHandle.Provider() || provider == core.WordsHandle.Provider() {
		return "letta"
	}
	return listedType(api.ProviderTypes(), provider, provider+"_openai", protocol)
}

func endpointType(m core.ModelInfo) string {
	return listedType(api.EndpointTypes(), m.Provider, m.Protocol)
}

func settingsType(m core.ModelInfo) string {
	return listedType(api.SettingsTypes(), m.Provider, m.Protocol)
}
