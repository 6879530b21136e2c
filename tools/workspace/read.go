package workspace

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"loci/core"
)

// ReadDoc tells a model what read does.
const ReadDoc = "Read a text file of the open folder, or look at an image. Lines come with their numbers, which are no part of " +
	"the file."

// ReadArgs are the arguments of read.
type ReadArgs struct {
	Path   string `json:"path" jsonschema:"The file, relative to the folder."`
	Offset *int   `json:"offset,omitempty" jsonschema:"First line to show, from 1."`
	Limit  *int   `json:"limit,omitempty" jsonschema:"How many lines, default 2000."`
}

// Bounds of what one read shows.
const (
	maxLines     = 2000
	maxLineChars = 2000
	maxShown     = 40_000   // characters of all lines
	maxScanned   = 64 << 20 // bytes of a large file before the lines asked for
)

// Read is the tool read.
func Read(ctx context.Context, args ReadArgs, env core.ToolEnv) (core.ToolResult, error) {
	return within(ctx, env, args.Path, func(ctx context.Context, f *folder) (core.ToolResult, error) { return f.read(ctx, args) })
}

func (f *folder) read(ctx context.Context, args ReadArgs) (core.ToolResult, error) {
	first, count := 1, maxLines
	if args.Offset != nil {
		first = max(1, *args.Offset)
	}
	if args.Limit != nil && *args.Limit > 0 {
		count = min(*args.Limit, maxLines)
	}
	rel, err := f.resolve(args.Path)
	if err != nil {
		return core.ToolResult{}, err
	}
	content, _, err := f.load(rel, core.MaxKeptContent)
	if errors.Is(err, errLarge) {
		return f.readLarge(ctx, args.Path, rel, first, count)
	}
	if err != nil {
		return core.ToolResult{}, f.cannot("read", args.Path, rel, err)
	}
	if kind := binaryKind(content); strings.HasPrefix(kind, "an image") {
		return f.showImage(ctx, args.Path, rel, content)
	} else if kind != "" {
		return core.ToolResult{}, noText(args.Path, kind, int64(len(content)))
	}
	note := ""
	text, _, err := decode(content)
	if err != nil {
		text = strings.ToValidUTF8(string(content), "\ufffd")
		note = "\n(Not all of the file is UTF-8: what is not is shown as \ufffd. It cannot be changed with edit or write.)"
	}
	if len(content) == 0 {
		return f.known(ctx, rel, content, "(The file is empty.)")
	}
	page, err := f.page(ctx, strings.NewReader(text), first, count)
	if err != nil {
		return core.ToolResult{}, err
	}
	source, err := sourceOf(ctx, f.env.Workspace, rel, core.ContentHash(content))
	if err != nil {
		return core.ToolResult{}, err
	}
	r, err := f.known(ctx, rel, content, marked(source, rel, page)+note)
	r.Source = source
	return r, err
}

// known returns what is read, and notes with it that the conversation knows the file now.
func (f *folder) known(ctx context.Context, rel string, content []byte, text string) (core.ToolResult, error) {
	if err := f.env.Workspace.Contents.Keep(ctx, content, false); err != nil {
		return core.ToolResult{}, err
	}
	read := core.FileRead{
		Conversation: f.env.Conversation, Path: f.absolute(rel), Hash: core.ContentHash(content), At: f.env.Now,
	}
	return core.ToolResult{Text: text, Apply: func(ctx context.Context, tx core.ToolEdits) (core.ToolResult, error) {
		return core.ToolResult{Text: text}, tx.Workspaces.NoteRead(ctx, read)
	}}, nil
}

// showImage shows an image to a model that takes images.
func (f *folder) showImage(ctx context.Context, name, rel string, content []byte) (core.ToolResult, error) {
	if f.env.Pictures == nil || f.env.Sees == core.ImagesRefused {
		return core.ToolResult{}, core.E(core.Invalid, "%q is an image, and this model takes no images", clip(name, 200))
	}
	p, err := f.env.Pictures.Read(ctx, content)
	if err != nil {
		return core.ToolResult{}, core.E(core.KindOf(err), "%q cannot be shown: %w", clip(name, 200), err)
	}
	source, err := sourceOf(ctx, f.env.Workspace, rel, core.ContentHash(content))
	return core.ToolResult{Text: p.String(), Images: []core.Picture{p}, Source: source}, err
}

func noText(name, kind string, size int64) error {
	return core.E(core.Invalid, "%q is %s (%d bytes) and cannot be shown as text", clip(name, 200), kind, size)
}

// readLarge shows lines of a file that is too large to be read whole, or to be changed.
func (f *folder) readLarge(ctx context.Context, name, rel string, first, count int) (core.ToolResult, error) {
	file, info, err := f.open(rel)
	if err != nil {
		return core.ToolResult{}, f.cannot("read", name, rel, err)
	}
	defer func() { _ = file.Close() }()
	head := make([]byte, sniffed)
	n, err := io.ReadFull(file, head)
	if err != nil {
		return core.ToolResult{}, f.cannot("read", name, rel, err)
	}
	if kind := binaryKind(head[:n]); kind != "" {
		return core.ToolResult{}, noText(name, kind, info.Size())
	}
	page, err := f.page(ctx, io.MultiReader(bytes.NewReader(head[:n]), file), first, count)
	if err != nil {
		return core.ToolResult{}, err
	}
	source, err := sourceOf(ctx, f.env.Workspace, rel, "")
	return core.ToolResult{Text: marked(source, rel, page), Source: source}, err
}

// page numbers lines, as many as there is room for, and says where to go on.
func (f *folder) page(ctx context.Context, from io.Reader, first, count int) (string, error) {
	in := bufio.NewReaderSize(&boundReader{ctx: ctx, in: from, left: maxScanned}, 64<<10)
	room := maxShown
	if f.env.MaxReturn > 0 {
		room = min(room, f.env.MaxReturn-1000)
	}
	var b strings.Builder
	shown := 0
	for number := 1; ; number++ {
		line, err := readLine(in)
		if errors.Is(err, io.EOF) {
			if number <= first && first > 1 {
				return "", core.E(core.Invalid, "the file has %d lines; there is no line %d", number-1, first)
			}
			if first > 1 {
				fmt.Fprintf(&b, "(Line %d is the last.)\n", number-1)
			}
			return strings.TrimSuffix(b.String(), "\n"), nil
		}
		if err != nil {
			return "", err
		}
		if number < first {
			continue
		}
		row := fmt.Sprintf("%d\t%s\n", number, line)
		if shown == count || shown > 0 && b.Len()+len(row) > room {
			fmt.Fprintf(&b, "(There is more: go on with offset %d.)", number)
			return b.String(), nil
		}
		b.WriteString(strings.ToValidUTF8(row, "\ufffd"))
		shown++
	}
}

// readLine reads a line without its end, and of a long one as much as is shown.
func readLine(in *bufio.Reader) (string, error) {
	var line []byte
	size := 0
	for {
		piece, more, err := in.ReadLine()
		if err != nil {
			if errors.Is(err, io.EOF) && size > 0 {
				break
			}
			return "", err
		}
		size += len(piece)
		if len(line) < 4*maxLineChars {
			line = append(line, piece[:min(len(piece), 4*maxLineChars-len(line))]...)
		}
		if !more {
			break
		}
	}
	text := string(line)
	if utf8.RuneCountInString(text) > maxLineChars || size > len(line) {
		return fmt.Sprintf("%s… (cut: the line has %d bytes)", clip(text, maxLineChars), size), nil
	}
	return text, nil
}

// boundReader ends with a sentence when the call's time or what it may scan is used up.
type boundReader struct {
	ctx  context.Context // lives for one call
	in   io.Reader
	left int64
}

func (r *boundReader) Read(p []byte) (int, error) {
	if r.ctx.Err() != nil {
		return 0, context.Cause(r.ctx)
	}
	if r.left <= 0 {
		return 0, core.E(core.Invalid, "the lines are further down than the first %d MB, where read does not look; grep finds lines by "+
			"what they say", maxScanned>>20)
	}
	n, err := r.in.Read(p[:min(int64(len(p)), r.left)])
	r.left -= int64(n)
	return n, err
}
