package api

// The paths of our own operations on providers.
const (
	PathProviders      = "/loci/v1/providers"
	PathProvidersCheck = PathProviders + "/check"
)

// Provider is the contract's: one that a person stored. Keys are never in it.
type Provider struct {
	ID               *string `json:"id"`
	Name             string  `json:"name"`
	ProviderType     string  `json:"provider_type"`
	ProviderCategory string  `json:"provider_category"`
	APIKey           *string `json:"api_key"`
	BaseURL          *string `json:"base_url"`
	AccessKey        *string `json:"access_key"`
	Region           *string `json:"region"`
	APIVersion       *string `json:"api_version"`
	UpdatedAt        *Time   `json:"updated_at"`
	LastSynced       *Time   `json:"last_synced"`
	APIKeyEnc        *string `json:"api_key_enc"`
	AccessKeyEnc     *string `json:"access_key_enc"`
}

// CreateProvider is the body of POST /v1/providers.
type CreateProvider struct {
	Name         string  `json:"name" required:"true"`
	ProviderType string  `json:"provider_type" required:"true"`
	APIKey       string  `json:"api_key" required:"true"`
	AccessKey    *string `json:"access_key,omitempty"`
	Region       *string `json:"region,omitempty"`
	BaseURL      *string `json:"base_url,omitempty"`
	APIVersion   *string `json:"api_version,omitempty"`
}

// UpdateProvider is the body of PATCH /v1/providers/{provider_id}.
type UpdateProvider struct {
	APIKey     string  `json:"api_key" required:"true"`
	AccessKey  *string `json:"access_key,omitempty"`
	Region     *string `json:"region,omitempty"`
	BaseURL    *string `json:"base_url,omitempty"`
	APIVersion *string `json:"api_version,omitempty"`
}

// TryProvider is the body of POST /v1/providers/check.
type TryProvider struct {
	ProviderType string  `json:"provider_type" required:"true"`
	APIKey       string  `json:"api_key" required:"true"`
	AccessKey    *string `json:"access_key,omitempty"`
	Region       *string `json:"region,omitempty"`
	BaseURL      *string `json:"base_url,omitempty"`
	APIVersion   *string `json:"api_version,omitempty"`
}

// ListProviders are the parameters of GET /v1/providers.
type ListProviders struct {
	Page
	Name         string `query:"name"`
	ProviderType string `query:"provider_type"`
}

// ReachableProvider is a provider that is set up, by whatever means.
type ReachableProvider struct {
	Name     string `json:"name"`
	Title    string `json:"title"`
	Protocol string `json:"protocol"`
	BaseURL  string `json:"base_url"`
	Key      string `json:"key"` // where its key comes from: a variable, or "stored"; empty: it has none
	Own      bool   `json:"own"` // a server of the person's own
	Stored   bool   `json:"stored"`
}

// AddProvider is the body of PUT /loci/v1/providers.
type AddProvider struct {
	Name     string `json:"name" required:"true"`
	Protocol string `json:"protocol,omitempty"` // empty: of the provider that is known by this name
	BaseURL  string `json:"base_url,omitempty"`
	Key      string `json:"key,omitempty"` // empty: it needs none
}

// RemoveProvider are the parameters of DELETE /loci/v1/providers.
type RemoveProvider struct {
	Name string `query:"name" required:"true"`
}

// CheckProvider is the body of POST /loci/v1/providers/check.
type CheckProvider struct {
	Name  string `json:"name" required:"true"`
	Model string `json:"model,omitempty"` // the provider's own name of it; empty: the first
}
