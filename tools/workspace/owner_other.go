//go:build !unix

package workspace

import (
	"io/fs"
	"os"
)

// keepOwner does nothing where files have no owner of this kind.
func keepOwner(*os.File, fs.FileInfo) {}
