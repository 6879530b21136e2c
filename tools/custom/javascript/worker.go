package javascript

import (
	_ "embed"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/evanw/esbuild/pkg/api"
	"modernc.org/quickjs"
)

//go:embed prelude.js
var prelude string

//go:embed call.js
var callProgram string

// Bounds of a worker. The sandbox has its own, which hold whatever the engine does.
const (
	mostMemory = 256 << 20
	mostStack  = 1 << 20
)

// request is a call, as far as the worker reads it.
type request struct {
	Tool     string `json:"tool"`
	Source   string `json:"source"`
	Function string `json:"function"`
}

// answer is what became of it.
type answer struct {
	Text   string            `json:"text"`
	Note   string            `json:"note"`
	Blocks map[string]string `json:"blocks,omitempty"`
	Failed *failure          `json:"failed,omitempty"`
}

type failure struct {
	Class string `json:"class"`
	Text  string `json:"text"`
}

// work answers the one call that comes, and returns the code to end with.
func work(stream *os.File) int {
	vm, err := newEngine()
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	_ = transform("export const warm: number = 1", "warm.ts", api.FormatCommonJS) // the first one takes longest
	text, code, ok := take(stream)
	if !ok {
		return code
	}
	return give(stream, call(vm, text))
}

// take reads the one call that comes; without one, code is what to end with.
func take(stream io.Reader) (text []byte, code int, ok bool) {
	var head [4]byte
	if _, err := io.ReadFull(stream, head[:]); err != nil {
		return nil, 0, false // nobody calls any more
	}
	text = make([]byte, binary.BigEndian.Uint32(head[:]))
	if _, err := io.ReadFull(stream, text); err != nil {
		return nil, 1, false
	}
	return text, 0, true
}

// give says what became of the call, and returns the code to end with.
func give(stream io.Writer, a answer) int {
	said, err := json.Marshal(a)
	if err != nil {
		return 1
	}
	if _, err := stream.Write(append(binary.BigEndian.AppendUint32(nil, uint32(len(said))), said...)); err != nil {
		return 1
	}
	return 0
}

func newEngine() (*quickjs.VM, error) {
	vm, err := quickjs.NewVM()
	if err != nil {
		return nil, err
	}
	vm.SetMemoryLimit(mostMemory)
	vm.SetMaxStackSize(mostStack)
	say := func(n int, text string) {
		to := os.Stdout
		if n == 2 {
			to = os.Stderr
		}
		fmt.Fprintln(to, text)
	}
	if err := vm.RegisterFunc("say", say, false); err != nil {
		return nil, err
	}
	_, err = vm.Eval(callProgram+prelude, quickjs.EvalGlobal)
	return vm, err
}

// call runs a call to its end.
func call(vm *quickjs.VM, text []byte) (a answer) {
	defer func() {
		if recover() != nil { // the engine has no room left, and no other word for it
			a = answer{Failed: &failure{"RangeError", "the engine ran out of memory or of stack"}}
		}
	}()
	var r request
	if err := json.Unmarshal(text, &r); err != nil {
		return failing(err)
	}
	code := transform(r.Source, r.Tool+".ts", api.FormatCommonJS)
	if code.err != nil {
		return answer{Failed: &failure{"SyntaxError", code.err.Error()}}
	}
	script := "__loci.start(() => { const module = { exports: {} }; ((module, exports, require) => { " + code.text +
		"\n})(module, module.exports, (name) => { " +
		"throw new Error(\"Cannot find module '\" + name + \"': a tool that needs packages asks for them in npm_requirements\"); }); " +
		"return module.exports; }, JSON.parse(" + quoted(text) + "));"
	if _, err := vm.Eval(script, quickjs.EvalGlobal); err != nil {
		return failing(err)
	}
	for {
		for {
			if n, err := vm.ExecutePendingJobs(); err != nil {
				return failing(err)
			} else if n == 0 {
				break
			}
		}
		next, err := vm.Eval("__loci.next()", quickjs.EvalGlobal)
		if err != nil {
			return failing(err)
		}
		switch v := next.(type) {
		case string:
			if err := json.Unmarshal([]byte(v), &a); err != nil {
				return failing(err)
			}
			return a
		default:
			wait, err := milliseconds(v)
			if err != nil {
				return failing(err)
			}
			if wait < 0 {
				return answer{Failed: &failure{"Error", "it waits for a promise that nothing will settle"}}
			}
			<-time.After(wait)
		}
	}
}

func milliseconds(v any) (time.Duration, error) {
	switch n := v.(type) {
	case int:
		return time.Duration(n) * time.Millisecond, nil
	case int32:
		return time.Duration(n) * time.Millisecond, nil
	case int64:
		return time.Duration(n) * time.Millisecond, nil
	case float64:
		return time.Duration(n * float64(time.Millisecond)), nil
	}
	return 0, fmt.Errorf("the engine returned a %T", v)
}

// quoted writes a text as a literal of the language.
func quoted(text []byte) string {
	q, err := json.Marshal(string(text))
	if err != nil {
		return `""` // a text always has one
	}
	return string(q)
}

func failing(err error) answer {
	f := &failure{"Error", err.Error()}
	var e *quickjs.Error
	if errors.As(err, &e) {
		f.Class, f.Text = e.Name, e.Message
	}
	return answer{Failed: f}
}

// transformed is a source as the engine takes it.
type transformed struct {
	text string
	err  error
}

// transform takes the types out of a source, and makes a module of it as whoever runs it knows them.
func transform(source, name string, format api.Format) transformed {
	r := api.Transform(source, api.TransformOptions{
		Loader: api.LoaderTS, Format: format, Target: api.ES2023, Sourcefile: name, LogLevel: api.LogLevelSilent,
	})
	if len(r.Errors) > 0 {
		first := r.Errors[0]
		if first.Location != nil {
			return transformed{err: fmt.Errorf("line %d: %s", first.Location.Line, first.Text)}
		}
		return transformed{err: errors.New(first.Text)}
	}
	return transformed{text: string(r.Code)}
}
