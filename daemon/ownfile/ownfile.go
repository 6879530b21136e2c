// Package ownfile reads and replaces the small files beside the settings in which a person, or Loci for one, writes what
// counts: permissions, trust, hooks.
//
// Promises: a file is read up to a bound, never a device or a pipe; a link that leads nowhere is an error; it
// is replaced whole or not at all.
//
// Layer 4: it imports core.
package ownfile

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"loci/core"
)

// Read returns what a file of at most that many bytes holds; nil: there is none.
func Read(path string, most int64) ([]byte, error) {
	info, err := os.Stat(path) // before it is opened: opening a pipe would wait
	if errors.Is(err, fs.ErrNotExist) {
		if link, lerr := os.Lstat(path); lerr == nil && link.Mode()&fs.ModeSymlink != 0 { // what stood there is out of reach, not away
			return nil, core.E(core.Invalid, "it is a link that leads nowhere")
		}
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	tooLarge := core.E(core.Invalid, "it is no file of at most %d bytes", most)
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, tooLarge
	}
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	text, err := io.ReadAll(io.LimitReader(file, most+1))
	if err == nil && int64(len(text)) > most {
		err = tooLarge
	}
	return text, err
}

// Replace writes a file that only the person can read, and makes its folder.
func Replace(path string, text []byte) error {
	dir, name := filepath.Split(path)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	temp, err := os.CreateTemp(dir, "."+name+"-*")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(temp.Name()) }()
	_, err = temp.Write(text)
	if err == nil {
		err = temp.Sync()
	}
	if cerr := temp.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		return err
	}
	return os.Rename(temp.Name(), path)
}
