// Package packagestest is an index of packages for tests, as pip and npm know them.
package packagestest

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// Index serves packages at its URL: /simple for pip, /npm for npm.
type Index struct {
	*httptest.Server
	mu    sync.Mutex
	files map[string][]byte // by name: of wheels and sources
	npm   map[string]map[string]any
	asked []string
	user  string // who may ask, with the password; empty: anybody
	word  string
	hold  chan struct{} // what is asked for waits until it is closed; nil: nothing waits
}

// New starts an index.
func New(tb testing.TB) *Index {
	tb.Helper()
	i := &Index{files: map[string][]byte{}, npm: map[string]map[string]any{}}
	i.Server = httptest.NewServer(http.HandlerFunc(i.serve))
	tb.Cleanup(i.Close)
	return i
}

// PyPI is the address for pip.
func (i *Index) PyPI() string { return i.URL + "/simple" }

// Npm is the address for npm.
func (i *Index) Npm() string { return i.URL + "/npm/" }

// Asked are the paths that were asked for so far.
func (i *Index) Asked() []string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return slices.Clone(i.asked)
}

// Lock wants a user and a password from then on.
func (i *Index) Lock(user, password string) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.user, i.word = user, password
}

// Hold lets what is asked for wait until release is called.
func (i *Index) Hold() (release func()) {
	i.mu.Lock()
	defer i.mu.Unlock()
	hold := make(chan struct{})
	i.hold = hold
	return sync.OnceFunc(func() { close(hold) })
}

func (i *Index) serve(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	i.asked = append(i.asked, r.URL.Path)
	hold, files := i.hold, maps.Clone(i.files)
	user, word, _ := r.BasicAuth()
	locked := i.user != "" && (user != i.user || word != i.word)
	i.mu.Unlock()
	if locked {
		w.Header().Set("WWW-Authenticate", `Basic realm="packages"`)
		http.Error(w, "who are you?", http.StatusUnauthorized)
		return
	}
	if hold != nil {
		select {
		case <-hold:
		case <-r.Context().Done():
			return
		}
	}
	switch {
	case strings.HasPrefix(r.URL.Path, "/files/"):
		if text, ok := files[strings.TrimPrefix(r.URL.Path, "/files/")]; ok {
			_, _ = w.Write(text)
			return
		}
	case strings.HasPrefix(r.URL.Path, "/simple/"):
		name := strings.Trim(strings.TrimPrefix(r.URL.Path, "/simple/"), "/")
		found := false
		for file := range files {
			if strings.HasPrefix(file, name+"-") {
				found = true
				fmt.Fprintf(w, "<a href=\"/files/%s\">%s</a><br>\n", file, file)
			}
		}
		if found {
			return
		}
	case strings.HasPrefix(r.URL.Path, "/npm/"):
		i.mu.Lock()
		about, ok := i.npm[strings.TrimPrefix(r.URL.Path, "/npm/")]
		i.mu.Unlock()
		if ok {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(about)
			return
		}
	}
	http.NotFound(w, r)
}

// Wheel adds a wheel with the given files, by their paths in it.
func (i *Index) Wheel(tb testing.TB, name, version string, files map[string]string) {
	tb.Helper()
	var out bytes.Buffer
	z := zip.NewWriter(&out)
	record := ""
	info := name + "-" + version + ".dist-info/"
	all := maps.Clone(files)
	all[info+"METADATA"] = "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n"
	all[info+"WHEEL"] = "Wheel-Version: 1.0\nGenerator: hand\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
	for _, path := range slices.Sorted(maps.Keys(all)) {
		record += path + ",,\n"
		add(tb, z, path, all[path])
	}
	add(tb, z, info+"RECORD", record+info+"RECORD,,\n")
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	i.put(name+"-"+version+"-py3-none-any.whl", out.Bytes())
}

func add(tb testing.TB, z *zip.Writer, path, text string) {
	tb.Helper()
	w, err := z.Create(path)
	if err == nil {
		_, err = w.Write([]byte(text))
	}
	if err != nil {
		tb.Fatal(err)
	}
}

// Source adds a source that is built by its own backend.py, which needs nothing.
func (i *Index) Source(tb testing.TB, name, version, backend string) {
	tb.Helper()
	project := "[build-system]\nrequires = []\nbuild-backend = \"backend\"\nbackend-path = [\".\"]\n" +
		"[project]\nname = \"" + name + "\"\nversion = \"" + version + "\"\n"
	i.put(name+"-"+version+".tar.gz", tarball(tb, name+"-"+version+"/", map[string]string{
		"pyproject.toml": project, "backend.py": backend,
		"PKG-INFO": "Metadata-Version: 2.1\nName: " + name + "\nVersion: " + version + "\n",
	}))
}

// Module adds a package of npm.
func (i *Index) Module(tb testing.TB, name, version string, files map[string]string) {
	tb.Helper()
	text := tarball(tb, "package/", files)
	file := strings.ReplaceAll(strings.TrimPrefix(name, "@"), "/", "-") + "-" + version + ".tgz"
	i.put(file, text)
	sum := sha512.Sum512(text)
	var about map[string]any
	if err := json.Unmarshal([]byte(files["package.json"]), &about); err != nil {
		tb.Fatal(err)
	}
	about["dist"] = map[string]any{
		"tarball": i.URL + "/files/" + file, "integrity": "sha512-" + base64.StdEncoding.EncodeToString(sum[:]),
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.npm[name] = map[string]any{
		"name": name, "dist-tags": map[string]any{"latest": version}, "versions": map[string]any{version: about},
	}
}

func tarball(tb testing.TB, folder string, files map[string]string) []byte {
	tb.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	t := tar.NewWriter(z)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		text := files[path]
		if err := t.WriteHeader(&tar.Header{Name: folder + path, Mode: 0o644, Size: int64(len(text))}); err != nil {
			tb.Fatal(err)
		}
		if _, err := t.Write([]byte(text)); err != nil {
			tb.Fatal(err)
		}
	}
	if err := t.Close(); err != nil {
		tb.Fatal(err)
	}
	if err := z.Close(); err != nil {
		tb.Fatal(err)
	}
	return out.Bytes()
}

func (i *Index) put(file string, text []byte) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.files[file] = text
}
