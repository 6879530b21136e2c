package api

// Page holds the parameters that every list has. A limit of 0 means the list's own default.
type Page struct {
	Before  string `query:"before"`
	After   string `query:"after"`
	Limit   int    `query:"limit" minimum:"1" maximum:"1000"`
	Order   string `query:"order" enum:"asc,desc"`
	OrderBy string `query:"order_by" enum:"created_at,updated_at,last_run_completion,last_message_at,name"`
}

// ListTags are the parameters of GET /v1/tags/. The response is an array of strings.
type ListTags struct {
	Page
	QueryText string `query:"query_text"`
	Name      string `query:"name"`
}
