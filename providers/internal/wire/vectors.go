package wire

import "loci/core"

// Vectors checks that an answer has a vector without holes for each text.
func (w Who) Vectors(in [][]*float32, texts int) ([][]float32, error) {
	if len(in) != texts {
		return nil, w.E(core.Unavailable, "%s answers %d texts with %d vectors", w.Provider, texts, len(in))
	}
	out := make([][]float32, texts)
	for i, vector := range in {
		out[i] = make([]float32, len(vector))
		for k, v := range vector {
			if v == nil {
				return nil, w.E(core.Unavailable, "%s answers with a vector that has holes", w.Provider)
			}
			out[i][k] = *v
		}
	}
	return out, nil
}
