package packages

import (
	"context"
	"encoding/base64"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"loci/core"
	"loci/tools/internal/authorities"
)

// npm installs packages for node. No script of a package runs, whatever it asks for.
func (b *build) npm(ctx context.Context, w *want) error {
	from, err := indexOf(b.s.cfg.Npm, publicNpm, "npm_registry")
	if err != nil {
		return err
	}
	if w.with.Installer == "" {
		return core.E(core.Unsupported, "there is no npm on this machine, and the tool asks for packages").
			WithHint("install it, for example: apt install npm")
	}
	settings := []string{
		"registry=" + from.address, "audit=false", "fund=false", "update-notifier=false", "progress=false", "ignore-scripts=true",
		"package-lock=false", "save=false", "fetch-retries=1", "fetch-timeout=30000", "loglevel=warn",
		"cache=" + filepath.Join(b.scratch(), "cache"),
	}
	if from.hide != "" {
		settings = append(settings, npmSecret(from)...)
	}
	if file := authorities.File(); file != "" {
		settings = append(settings, "cafile="+file)
	}
	rc := filepath.Join(b.scratch(), "npmrc")
	if err := os.WriteFile(rc, []byte(strings.Join(settings, "\n")+"\n"), 0o600); err != nil {
		return core.E(core.Unavailable, "a folder for packages: %w", err)
	}
	argv := slices.Concat([]string{
		w.with.Program, w.with.Installer, "install", "--prefix", b.files(), "--userconfig", rc, "--globalconfig", os.DevNull, "--",
	}, w.Requirements)
	r, err := b.job(ctx, w.with, from, argv, []string{"NODE_OPTIONS=--max-old-space-size=512"})
	if err != nil || good(r) {
		return err
	}
	return failed(w, r, from)
}

// npmSecret is how npm is told of an address that holds a password.
func npmSecret(from index) []string {
	u, err := url.Parse(from.address)
	if err != nil { // it was parsed before
		return nil
	}
	password, _ := u.User.Password()
	secret := base64.StdEncoding.EncodeToString([]byte(u.User.Username() + ":" + password))
	u.User = nil
	return []string{"registry=" + u.String(), "//" + u.Host + strings.TrimSuffix(u.Path, "/") + "/:_auth=" + secret}
}
