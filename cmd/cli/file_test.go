package cli

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"loci/daemon/api"
)

func TestFilesAreListedInPagesUpToTheLimit(t *testing.T) {
	t.Parallel()
	const there, size = 25, 10
	for most, want := range map[int]struct {
		shown int
		more  bool
	}{1: {1, true}, 9: {9, true}, 10: {10, true}, 11: {11, true}, 24: {24, true}, 25: {25, false}, 26: {25, false}, 1 << 40: {25, false}} {
		var got []string
		list := func(after string, n int) (out []api.File, _ error) {
			if n < 1 || n > size {
				t.Errorf("%d are asked for at once", n)
			}
			from, _ := strconv.Atoi(after)
			for i := from + 1; i <= min(there, from+n); i++ {
				out = append(out, api.File{ID: strconv.Itoa(i)})
			}
			return out, nil
		}
		more, err := inPages(most, size, list, fileID, func(files []api.File) error {
			for _, f := range files {
				got = append(got, f.ID)
			}
			return nil
		})
		if err != nil || more != want.more || len(got) != want.shown || got[len(got)-1] != strconv.Itoa(want.shown) {
			t.Errorf("of %d files, %d at most: %v, more: %v, %v", there, most, got, more, err)
		}
	}
}

func TestManyFilesAreOneListWithOneHeader(t *testing.T) {
	t.Parallel()
	page := make([]api.File, filesAtOnce)
	for i := range page {
		page[i] = api.File{ID: fmt.Sprintf("file-%d", i), FileName: api.PtrTo("a")}
	}
	write := func(asJSON bool, pages int) string {
		var b bytes.Buffer
		rows := &fileRows{app: &app{out: &b, json: asJSON}}
		for range pages {
			if err := rows.add(api.Folder{Name: "docs"}, page); err != nil {
				t.Fatal(err)
			}
		}
		if err := rows.end(); err != nil {
			t.Fatal(err)
		}
		return b.String()
	}
	if got := write(false, 3); strings.Count(got, "STATUS") != 1 || strings.Count(got, "\n") != 3*filesAtOnce+1 {
		t.Errorf("%d headers in %d lines", strings.Count(got, "STATUS"), strings.Count(got, "\n"))
	}
	for pages := range 3 {
		var all []api.File
		if err := json.Unmarshal([]byte(write(true, pages)), &all); err != nil || all == nil || len(all) != pages*filesAtOnce {
			t.Errorf("%d pages: %d files, %v", pages, len(all), err)
		}
	}
}

func TestOnlyFilesThatEndAreSent(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	large := filepath.Join(dir, "large.txt")
	if err := errors.Join(os.WriteFile(large, []byte("text"), 0o600), os.Truncate(large, maxFileSize+1)); err != nil {
		t.Fatal(err)
	}
	for path, want := range map[string]string{
		os.DevNull: "no regular file", dir: "no regular file", large: "more than the 50.0 MB", filepath.Join(dir, "none"): "none",
	} {
		_, err := (&addition{}).upload(t.Context(), source{path: path})
		if kind, _ := explain(err); err == nil || kind != api.KindInvalid || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", path, err, want)
		}
	}
}
