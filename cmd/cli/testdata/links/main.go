// Command links prints its version like Loci and does nothing else, but links the same libraries: a baseline for
// what their initialisation costs every command.
package main

import (
	"os"

	_ "charm.land/bubbles/v2/textarea"
	_ "charm.land/bubbletea/v2"

	_ "charm.land/lipgloss/v2"
	_ "github.com/BurntSushi/toml"
	_ "github.com/alecthomas/chroma/v2/lexers"
	_ "github.com/caarlos0/env/v11"
	_ "github.com/danielgtaylor/huma/v2/adapters/humachi"
	_ "github.com/fsnotify/fsnotify"
	_ "github.com/go-chi/chi/v5"
	_ "github.com/gofrs/flock"
	_ "github.com/google/jsonschema-go/jsonschema"
	_ "github.com/google/uuid"
	_ "github.com/jmoiron/sqlx"
	_ "github.com/kljensen/snowball/english"
	_ "github.com/ollama/ollama/api"
	_ "github.com/pdfcpu/pdfcpu/pkg/pdfcpu"
	_ "github.com/pressly/goose/v3"
	_ "github.com/sashabaranov/go-openai"
	_ "github.com/spf13/cobra"
	_ "github.com/yuin/goldmark"
	_ "go.yaml.in/yaml/v3"
	_ "golang.org/x/net/html"
	_ "golang.org/x/sync/errgroup"
	_ "gopkg.in/natefinch/lumberjack.v2"
	_ "modernc.org/sqlite"
)

func main() { _, _ = os.Stdout.WriteString("links dev\n") }
