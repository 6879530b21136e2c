package providertest

import (
	"encoding/json"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

// generate serves what is under /v1beta: answers, vectors and the listing.
func (s *Server) generate(w http.ResponseWriter, r *http.Request, body []byte) {
	_, rest, _ := strings.Cut(r.URL.Path, "/models")
	name, operation, _ := strings.Cut(strings.TrimPrefix(rest, "/"), ":")
	streams := operation == "streamGenerateContent" && r.URL.Query().Get("alt") == "sse" // else it is one array, which nobody wants
	switch {
	case r.Method == http.MethodGet && name == "":
		s.listGenerate(w, r)
	case r.Method == http.MethodGet:
		s.describeGenerate(w, name)
	case streams || operation == "generateContent":
		s.reply(w, r, body, &generateWire{server: s, model: name, stream: streams})
	case operation == "batchEmbedContents":
		s.embedGenerate(w, name, body)
	default:
		http.NotFound(w, r)
	}
}

func (m Model) generateRow() object {
	row := object{
		"name": "models/" + m.Name, "version": "001", "displayName": m.Name, "inputTokenLimit": max(m.Window, 1),
		"supportedGenerationMethods": []string{"generateContent", "countTokens", "batchGenerateContent"},
	}
	if m.Window == 0 {
		delete(row, "inputTokenLimit")
	}
	if g := m.Gemini; g != nil {
		row["outputTokenLimit"], row["thinking"] = g.MaxOutput, len(g.Levels) > 0 || g.MostBudget > 0
		row["temperature"], row["maxTemperature"] = 1, 2
	}
	if m.Embed {
		row["supportedGenerationMethods"] = []string{"embedContent", "countTextTokens", "asyncBatchEmbedContent"}
	}
	return row
}

// listGenerate lists the models in pages.
func (s *Server) listGenerate(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	s.listed++
	s.mu.Unlock()
	size, _ := strconv.Atoi(r.URL.Query().Get("pageSize"))
	if size <= 0 {
		size = 50
	}
	from, _ := strconv.Atoi(r.URL.Query().Get("pageToken"))
	from = min(max(from, 0), len(s.Models))
	to := min(from+min(size, 1000), len(s.Models))
	rows := []object{}
	for _, m := range s.Models[from:to] {
		rows = append(rows, m.generateRow())
	}
	out := object{"models": rows}
	if to < len(s.Models) {
		out["nextPageToken"] = strconv.Itoa(to)
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	writeJSON(w, out)
}

func (s *Server) describeGenerate(w http.ResponseWriter, name string) {
	at := slices.IndexFunc(s.Models, func(m Model) bool { return m.Name == name })
	if at < 0 {
		refuse(w, Generate, &Fail{Status: http.StatusNotFound, Message: "Model is not found: models/" + name + " for api version v1beta"})
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	writeJSON(w, s.Models[at].generateRow())
}

// mostEmbedded is how many texts one request may have.
const mostEmbedded = 100

// embedGenerate answers each text with a vector of its own, which is always the same.
func (s *Server) embedGenerate(w http.ResponseWriter, name string, body []byte) {
	var in struct {
		Requests []struct {
			Model   string          `json:"model"`
			Content generateContent `json:"content"`
		} `json:"requests"`
	}
	bad := json.Unmarshal(body, &in) != nil || len(in.Requests) == 0 || len(in.Requests) > mostEmbedded
	vectors := []object{}
	for _, r := range in.Requests {
		bad = bad || r.Model != "models/"+name || len(r.Content.Parts) != 1 || r.Content.Parts[0].Text == nil
		if bad {
			break
		}
		h := fnv.New32a()
		_, _ = h.Write([]byte(*r.Content.Parts[0].Text)) // never fails
		sum := h.Sum32()
		vectors = append(vectors, object{"values": []float64{float64(sum & 0xff), float64(sum >> 8 & 0xff), float64(sum >> 16 & 0xff), 1}})
	}
	if bad {
		refuse(w, Generate, &Fail{Status: http.StatusBadRequest, Message: "* BatchEmbedContentsRequest.requests: bad request"})
		return
	}
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	writeJSON(w, object{"embeddings": vectors})
}

// googleKey is how the service refuses a key; it quotes it, as a careless gateway would.
func googleKey(key string) *Fail {
	return &Fail{
		Status: http.StatusBadRequest, Code: "API_KEY_INVALID", Message: "API key not valid. Please pass a valid API key. (" + key + ")",
	}
}

// googleError is an error as Google's services word it.
func googleError(f *Fail) object {
	status := map[int]string{
		400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED",
		500: "INTERNAL", 503: "UNAVAILABLE", 504: "DEADLINE_EXCEEDED",
	}[f.Status]
	var details []object
	if f.Code == "API_KEY_INVALID" {
		details = append(details, object{
			"@type": "type.googleapis.com/google.rpc.ErrorInfo", "reason": f.Code, "domain": "googleapis.com",
		})
	}
	if f.Code == "insufficient_quota" {
		details = append(details, object{
			"@type":      "type.googleapis.com/google.rpc.QuotaFailure",
			"violations": []object{{"quotaId": "GenerateRequestsPerDayPerProjectPerModel-FreeTier", "quotaValue": "50"}},
		})
	}
	if f.RetryAfter != "" {
		details = append(details, object{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": f.RetryAfter + "s"})
	}
	e := object{"code": f.Status, "message": orText(f.Message, http.StatusText(f.Status)), "status": orText(status, "UNKNOWN")}
	if details != nil {
		e["details"] = details
	}
	return object{"error": e}
}
