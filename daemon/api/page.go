package api

// Page holds the parameters that every list has. A limit of 0 means the list's own default.
type Page struct {
	Before  string `query:"before"`
	After   string `query:"after"`
	Limit   int    `query:"limit"`
	Order   string `query:"order" enum:"asc,desc"`
	OrderBy string `query:"order_by"`
}

// ListTags are the parameters of GET /v1/tags/. The response is an array of strings.
type ListTags struct {
	Page
	QueryText string `query:"query_text"`
	Name      string `query:"name"`
}
