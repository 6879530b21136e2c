package pysource_test

import (
	"encoding/json"
	"errors"
	"os"
	"strings"
	"testing"

	"loci/core"
	"loci/core/coretest/golden"
	"loci/tools/custom/pysource"
)

func TestWhatAFunctionTakesFollowsFromItsSource(t *testing.T) {
	t.Parallel()
	for file, function := range map[string]string{"types": "", "classes": "", "nasty": "grün", "bom_crlf_tabs": ""} {
		t.Run(file, func(t *testing.T) {
			t.Parallel()
			source, err := os.ReadFile("testdata/" + file + ".py")
			if err != nil {
				t.Fatal(err)
			}
			tool, err := pysource.Describe(source, function)
			if err != nil {
				t.Fatal(err)
			}
			text, err := json.MarshalIndent(tool, "", " ")
			if err != nil {
				t.Fatal(err)
			}
			golden.Equal(t, file, string(text))
		})
	}
}

// sentence makes a source of a function whose parameters are described.
func sentence(params string) string {
	return "def f(" + params + "):\n  '''Does it.\n\n  Args:\n    a: A.\n    b: B.\n  '''\n"
}

func TestWhatCanNotBeDescribedIsRefusedWithItsLineAndTheReason(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct{ source, want string }{
		"no function":                   {"x = 1\n", "no function"},
		"only a method":                 {"class A:\n  def f(self):\n    '''F.'''\n", "no function"},
		"no docstring":                  {"\n\ndef f(): pass\n", "line 3: the function f has no docstring"},
		"an f-string is none":           {"def f():\n  f'''Does it.'''\n", "no docstring"},
		"bytes are none":                {"def f():\n  b'''Does it.'''\n", "no docstring"},
		"no type":                       {sentence("a"), "line 1: the parameter a of f has no type"},
		"not described":                 {sentence("\n  a: int,\n  c: int"), "line 3: the docstring of f says nothing of the parameter c"},
		"a type of elsewhere":           {"import numpy as np\n" + sentence("a: np.ndarray"), "line 2: the type np.ndarray"},
		"a type that is called":         {sentence("a: conint(gt=1)"), "line 1: the type conint"},
		"a type that is computed":       {sentence("a: int if x else str"), "line 1: the type"},
		"a type that runs":              {sentence("a: __import__('os').system('true')"), "line 1: the type"},
		"a plain class":                 {"class A: pass\n" + sentence("a: A"), "line 2: the class A is none of those"},
		"a model in itself":             {"class A(TypedDict):\n  a: 'A'\n" + sentence("a: A"), "is in itself"},
		"an alias in itself":            {"A = B\nB = A\n" + sentence("a: A"), "is in itself"},
		"a field without description":   {"class A(BaseModel):\n  x: int\n" + sentence("a: A"), "line 2: the field x of A"},
		"an enum of what is no value":   {"import enum\nclass A(enum.Enum):\n  X = f()\n" + sentence("a: A"), "line 3: the value of A.X"},
		"an enum of nothing":            {"import enum\nclass A(enum.Enum): pass\n" + sentence("a: A"), "the enum A has no"},
		"a literal that is none":        {sentence("a: Literal[x]"), "line 1: the type Literal"},
		"a string that does not end":    {"x = 1\ny = 'abc\n", "line 2: a string does not end"},
		"a text that does not end":      {"x = '''abc\n\n", "line 1: a string does not end"},
		"a field that does not end":     {"x = f'{a'\n", "does not end"},
		"a bracket too few":             {sentence("a: int") + "x = (1,\n", "inside of a bracket"},
		"a bracket too many":            {"x = 1)\n", `line 1: a bracket ')' closes none`},
		"another bracket":               {"x = (1]\n", "closes none"},
		"an indentation that fits none": {"if x:\n    a\n  b\n", "line 3: the indentation fits no line above"},
		"a head that does not end":      {"def f(a: int)\n  pass\n", "a colon is missing"},
		"a parameter that is none":      {"def f(1): pass\n", `line 1: "1" stands where`},
		"a NUL":                         {"x = 1\x00", "NUL byte"},
		"no UTF-8":                      {"x = '\xff'", "not valid UTF-8"},
		"another encoding":              {"# coding: latin-1\n", "line 1: the source calls itself latin-1"},
		"many brackets":                 {strings.Repeat("(", 100_000), "more than 200 brackets"},
		"many f-strings":                {strings.Repeat("f'{", 100_000), "more than 200 brackets"},
		"a type too deep":               {sentence("a: " + strings.Repeat("list[", 199) + "int" + strings.Repeat("]", 199)), ""},
		"strings within strings":        {sentence("a: 'list[\"list[int]\"]'"), ""},
		"too large":                     {strings.Repeat("#", pysource.MaxBytes+1), "bytes; at most"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := pysource.Describe([]byte(tt.source), "")
			var refused *core.Error
			switch {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (!errors.As(err, &refused) || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("%v; want %s", err, tt.want)
			case refused != nil && len(err.Error()) > 1000:
				t.Errorf("the reason has %d characters", len(err.Error()))
			}
		})
	}
}

func TestTypesThatMultiplyAreBounded(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("class A0(TypedDict):\n  x: int\n")
	for i := range 20 {
		letter, below := string(rune('A'+i+1)), string(rune('A'+i))
		if i == 0 {
			below = "A0"
		}
		b.WriteString("class " + letter + "(TypedDict):\n  x: " + below + "\n  y: " + below + "\n  z: " + below + "\n")
	}
	if _, err := pysource.Describe([]byte(b.String()+sentence("a: U")), ""); err == nil || !strings.Contains(err.Error(), "too much") {
		t.Error(err)
	}
}

func TestTheFunctionOfASourceIsItsLast(t *testing.T) {
	t.Parallel()
	doc := "\n  '''Does it.'''\n"
	for name, tt := range map[string]struct{ source, named, want string }{
		"the last":                         {"def a():" + doc + "def b():" + doc, "", "b"},
		"not one with an underscore":       {"def a():" + doc + "def _b():" + doc, "", "a"},
		"unless there is no other":         {"def _b():" + doc, "", "_b"},
		"an async one":                     {"async def a():" + doc, "", "a"},
		"not its async variant":            {"def a():" + doc + "async def b():" + doc, "", "a"},
		"an async one behind a helper":     {"def a(): pass\nasync def b():" + doc, "", "b"},
		"the one that is named":            {"def a():" + doc + "def b():" + doc, "a", "a"},
		"the last of a name":               {"def a(): pass\ndef a():" + doc, "a", "a"},
		"not within others":                {"def a():" + doc + "  def b(): pass\nclass C:\n  def c(self): pass\n", "", "a"},
		"with a decorator":                 {"def a():" + doc + "@x(y)\n@z\ndef b():" + doc, "", "b"},
		"not what only looks like one":     {"def a():" + doc + "x = '''\ndef b():\n  pass\n'''\n", "", "a"},
		"with parameters for what follows": {"def a[T: int](x: T = (1, 2)[0]) -> 'x':" + doc, "a", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tool, err := pysource.Describe([]byte(tt.source), tt.named)
			if tt.want == "" {
				tool, err = pysource.Head([]byte(tt.source), tt.named)
				if err != nil || tool.Name != "a" || tool.Description != "Does it." {
					t.Errorf("%+v, %v", tool, err)
				}
				return
			}
			if err != nil || tool.Name != tt.want {
				t.Errorf("%s, %v; want %s", tool.Name, err, tt.want)
			}
		})
	}
}

func FuzzDescribe(f *testing.F) {
	for _, file := range []string{"types", "classes", "nasty", "bom_crlf_tabs"} {
		source, err := os.ReadFile("testdata/" + file + ".py")
		if err != nil {
			f.Fatal(err)
		}
		f.Add(source)
	}
	f.Add([]byte(sentence("a: Literal[f'{x!r:{y}}']")))
	for _, unit := range []string{ // each of them once took more time than its length allows, or may
		"(", "f'{x}'", "f'{f\"{x}\"}' ", "a=lambda x:", "@a\n", "a.", "a|", "[]", "([{}])", "f'{a:{b}}'", "f'{{",
		"A = A\n", "from a import b;",
	} {
		f.Add([]byte(strings.Repeat(unit, 100_000/len(unit))))
		f.Add([]byte("def f(a: " + strings.Repeat(unit, 100_000/len(unit)) + "): 'x'"))
	}
	f.Fuzz(func(t *testing.T, source []byte) {
		tool, err := pysource.Describe(source, "")
		if err != nil {
			var refused *core.Error
			if !errors.As(err, &refused) {
				t.Fatalf("%T", err)
			}
			return
		}
		if _, err := json.Marshal(tool.Parameters); err != nil || tool.Name == "" || tool.Description == "" {
			t.Fatalf("%+v, %v", tool, err)
		}
	})
}

func BenchmarkDescribe(b *testing.B) {
	source, err := os.ReadFile("testdata/classes.py")
	if err != nil {
		b.Fatal(err)
	}
	b.SetBytes(int64(len(source)))
	for b.Loop() {
		if _, err := pysource.Describe(source, ""); err != nil {
			b.Fatal(err)
		}
	}
}
