//go:build !unix

package ipc

import "io/fs"

// ownedByUs cannot be answered without accounts in numbers; Listen refuses such systems anyway.
func ownedByUs(fs.FileInfo) bool { return true }
