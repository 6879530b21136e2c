package api

// Fit is the body of POST /loci/v1/conversations/{id}/fit: a message to be sent, and its run's model if that isn't
// the agent's.
type Fit struct {
	Text  string `json:"text" required:"true"`
	Model string `json:"model,omitempty"`
}

// FitResult reports how much of a message would reach the model.
type FitResult struct {
	Characters int    `json:"characters"`
	Sent       int    `json:"sent"`   // how many of them, counted from the start
	Window     int    `json:"window"` // of the model, in tokens
	Model      string `json:"model"`
}

// Whole reports whether nothing would be cut off.
func (f FitResult) Whole() bool { return f.Sent >= f.Characters }
