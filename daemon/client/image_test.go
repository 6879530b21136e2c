package client

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func keep(t *testing.T, name string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte("pixels"), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func TestAnImageThatATextNamesIsSentInItsPlace(t *testing.T) {
	t.Parallel()
	path := keep(t, "a b.png")
	got, err := Written("Look: " + ImageMark(path) + " what is it?")
	if err != nil || len(got.Parts) != 3 || got.String() != "Look:  what is it?" {
		t.Fatalf("%+v, %v", got, err)
	}
	if data, err := base64.StdEncoding.DecodeString(got.Parts[1].Source.Data); err != nil || string(data) != "pixels" {
		t.Errorf("%q, %v", data, err)
	}
	if plain, err := Written("no [image here]"); err != nil || plain.Parts != nil {
		t.Errorf("%+v, %v", plain, err)
	}
	if _, err := Written("[image /nowhere/x.png]"); err == nil || !strings.Contains(err.Error(), "there is no such file") {
		t.Errorf("a missing one: %v", err)
	}
	if _, err := Written("[image " + filepath.Dir(path) + "]"); err == nil {
		t.Error("a folder is sent")
	}
}

func TestFilesThatAreDraggedInAreImages(t *testing.T) {
	t.Parallel()
	path := keep(t, "my shot.PNG")
	for _, pasted := range []string{
		strings.ReplaceAll(path, " ", `\ `), "'" + path + "' ", `"` + path + `"`, "file://" + strings.ReplaceAll(path, " ", "%20") + "\n",
	} {
		if got, ok := Dropped(pasted); !ok || got != ImageMark(path) {
			t.Errorf("%q: %q, %v", pasted, got, ok)
		}
	}
	two := "'" + path + "' '" + path + "'"
	if got, ok := Dropped(two); !ok || strings.Count(got, "[image ") != 2 {
		t.Errorf("two: %q, %v", got, ok)
	}
	for _, other := range []string{"", "hello", "/etc/passwd", "'" + path + "' is it", "/nowhere/x.png", "a.png"} {
		if got, ok := Dropped(other); ok {
			t.Errorf("%q: %q", other, got)
		}
	}
}
