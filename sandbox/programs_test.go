//go:build linux

package sandbox

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"compress/gzip"
	"crypto/sha512"
	"encoding/base64"
	"fmt"
	"net/http"
	"net/http/cgi"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

func TestGitClonesAndPushesOverHTTPSWithACredential(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/git")
	backend := "/usr/lib/git-core/git-http-backend"
	needs(t, backend)
	w := newWorld(t)
	root := t.TempDir()
	for _, line := range []string{"init -q --bare -b main repo.git", "-C repo.git config http.receivepack true"} {
		cmd := exec.CommandContext(t.Context(), "git", strings.Fields(line)...)
		cmd.Dir = root
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatal(err, string(out))
		}
	}
	serve := &cgi.Handler{Path: backend, Env: []string{
		"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1",
		"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
	}}
	w.https.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if name, word, _ := r.BasicAuth(); name != "ann" || word != "secret" {
			out.Header().Set("WWW-Authenticate", "Basic")
			out.WriteHeader(http.StatusUnauthorized)
			return
		}
		serve.ServeHTTP(out, r)
	})
	out, r := w.run(w.sandbox(), to("example.com"), `cd; git clone -q https://ann:secret@example.com/repo.git a; cd a &&
		git -c user.name=a -c user.email=a@b commit -q --allow-empty -m pushed && git push -q origin HEAD:main &&
		git clone -q https://ann:secret@example.com/repo.git ../b && git -C ../b log --format=%s`)
	if !strings.HasSuffix(out, "pushed\n") || r.ExitCode != 0 || len(r.Refused) > 0 {
		t.Errorf("%s %+v", out, r)
	}
}

func TestNpmInstallsAPackage(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/bin/npm")
	w := newWorld(t)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	archive := tar.NewWriter(z)
	for name, text := range map[string]string{
		"package/package.json": `{"name":"tiny","version":"1.0.0"}`, "package/index.js": `module.exports = "installed"`,
	} {
		if err := archive.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(text))}); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	if archive.Close() != nil || z.Close() != nil {
		t.Fatal("the package can't be packed")
	}
	sum := sha512.Sum512(packed.Bytes())
	w.https.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, ".tgz") {
			_, _ = out.Write(packed.Bytes())
			return
		}
		_, _ = fmt.Fprintf(out, `{"name":"tiny","dist-tags":{"latest":"1.0.0"},"versions":{"1.0.0":{"name":"tiny","version":"1.0.0",
			"dist":{"tarball":"https://example.com/tiny.tgz","integrity":"sha512-%s"}}}}`, base64.StdEncoding.EncodeToString(sum[:]))
	})
	out, r := w.run(w.sandbox(), to("example.com"), `mkdir -p "$HOME/p"; cd "$HOME/p"; echo '{}' > package.json
		npm install --registry=https://example.com --cafile=/ca --fetch-retries=0 --no-audit --no-fund --no-update-notifier tiny
		node -p 'require("tiny")'`)
	if !strings.HasSuffix(out, "installed\n") || r.ExitCode != 0 {
		t.Errorf("%s %+v", out, r)
	}
}

func TestGoDownloadsAModule(t *testing.T) {
	t.Parallel()
	needs(t, "/usr/local/go/bin/go")
	w := newWorld(t)
	var packed bytes.Buffer
	z := zip.NewWriter(&packed)
	for _, name := range []string{"go.mod", "tiny.go"} {
		file, err := z.Create(filepath.Join("example.org/tiny@v1.0.0", name))
		if err == nil {
			_, err = fmt.Fprintln(file, map[string]string{"go.mod": "module example.org/tiny", "tiny.go": "package tiny"}[name])
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	w.https.Config.Handler = http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		switch filepath.Ext(r.URL.Path) {
		case ".info":
			_, _ = fmt.Fprint(out, `{"Version":"v1.0.0","Time":"2026-01-01T00:00:00Z"}`)
		case ".mod":
			_, _ = fmt.Fprintln(out, "module example.org/tiny")
		default:
			_, _ = out.Write(packed.Bytes())
		}
	})
	out, r := w.run(w.sandbox(), to("example.com"), `export PATH=/usr/local/go/bin:$PATH GOPROXY=https://example.com GOSUMDB=off \
		GOTOOLCHAIN=local GOPATH=$HOME/go GOFLAGS=-modcacherw; cd; mkdir m; cd m; go mod init m 2>/dev/null
		go get example.org/tiny@v1.0.0 2>/dev/null && go mod download && cat "$GOPATH/pkg/mod/example.org/tiny@v1.0.0/tiny.go"`)
	if !strings.HasSuffix(out, "package tiny\n") || r.ExitCode != 0 || len(r.Refused) > 0 {
		t.Errorf("%s %+v", out, r)
	}
}
