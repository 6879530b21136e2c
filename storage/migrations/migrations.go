// Package migrations is the schema of the facts and how it became what it is: statements in SQL, and the steps that SQL
// cannot express in Go. What was released is never changed.
package migrations

import (
	"embed"

	"loci/storage/sqlite"
)

// File is the name of the file of facts in the folder of a home's data.
const File = "loci.db"

//go:embed sqlite
var statements embed.FS

// Facts is the schema that the migrations of the facts make.
func Facts() sqlite.Schema {
	return sqlite.Schema{Name: File, Root: statements, Folder: "sqlite", Steps: map[int64]sqlite.Step{10: renumberFiles}}
}
