package storage

import (
	"embed"

	"loci/storage/sqlite"
)

//go:embed migrations
var migrations embed.FS

// FactsSchema is the schema that the migrations of the facts make.
func FactsSchema() sqlite.Schema {
	return sqlite.Schema{
		Name: FactsFile, Root: migrations, Folder: "migrations/sqlite",
		Steps: map[int64]sqlite.Step{10: renumberFiles},
	}
}
