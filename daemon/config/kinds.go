package config

import (
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/caarlos0/env/v11"
)

// takes says what a setting can be, with times and texts between quotes if the source needs them.
func takes(f reflect.StructField, quote string) string {
	switch {
	case f.Type == reflect.TypeFor[time.Duration]():
		return "a time with its unit, like " + quote + "5m" + quote + " or " + quote + "90s" + quote
	case f.Type.Kind() == reflect.Int:
		return "a whole number, like " + f.Tag.Get("envDefault")
	case f.Type.Kind() == reflect.Bool:
		return "true or false"
	case f.Type.Kind() == reflect.Slice:
		return "a list of texts"
	}
	return "a text in quotes"
}

// unread says which of the values could not be parsed. The parser's own error names Go's fields and functions.
func unread(err error, values map[string]string, called func(reflect.StructField) string) error {
	var all env.AggregateError
	var wrong env.ParseError
	if !errors.As(err, &all) || len(all.Errors) == 0 || !errors.As(all.Errors[0], &wrong) {
		return err
	}
	f, ok := reflect.TypeFor[Config]().FieldByName(wrong.Name)
	if !ok {
		return err
	}
	return fmt.Errorf("%s is %q; it takes %s", called(f), values[f.Tag.Get("env")], takes(f, ""))
}

// checkKinds compares a file's values with what the settings take, before the decoder does: its errors name Go's types,
// and it reads a bare number as nanoseconds.
func checkKinds(written map[string]any) error {
	for f := range keyFields() {
		if v, ok := written[f.Tag.Get("toml")]; ok && !fits(f, v) {
			return fmt.Errorf("%s is %s; it takes %s", f.Tag.Get("toml"), shownOf(f, v), takes(f, `"`))
		}
	}
	if written["providers"] == nil {
		return nil
	}
	tables, ok := written["providers"].(map[string]any)
	if !ok {
		return fmt.Errorf("providers is %s; it takes tables, like [providers.vllm]", shown(written["providers"]))
	}
	for _, name := range slices.Sorted(maps.Keys(tables)) {
		table, ok := tables[name].(map[string]any)
		if !ok {
			return fmt.Errorf("providers.%s is %s; it takes a table, [providers.%s]", name, shown(tables[name]), name)
		}
		if err := checkProvider("providers."+name, table, true); err != nil {
			return err
		}
	}
	return nil
}

// checkProvider checks the table of a provider, or of one of its models.
func checkProvider(at string, table map[string]any, models bool) error {
	for _, key := range slices.Sorted(maps.Keys(table)) {
		switch value := table[key].(type) {
		case string:
			continue
		case int64:
			if slices.Contains(sizes(), key) || slices.Contains(amounts(), key) {
				continue
			}
		case float64:
			if slices.Contains(amounts(), key) {
				continue
			}
		case map[string]any:
			if !models || key != "models" {
				break
			}
			for _, model := range slices.Sorted(maps.Keys(value)) {
				one, ok := value[model].(map[string]any)
				if !ok {
					return fmt.Errorf("%s.models.%s is %s; it takes a table", at, model, shown(value[model]))
				}
				if err := checkProvider(at+".models."+model, one, false); err != nil {
					return err
				}
			}
			continue
		}
		return fmt.Errorf("%s.%s is %s; it takes %s", at, key, shown(table[key]), takesOf(key))
	}
	return nil
}

// sizes are the settings of providers that are numbers.
func sizes() []string { return []string{"context_window", "max_output"} }

// amounts are the settings of models that are dollars for a million tokens.
func amounts() []string { return []string{"input_price", "output_price", "read_price", "write_price"} }

func takesOf(key string) string {
	if slices.Contains(amounts(), key) {
		return "dollars for a million tokens, like 2.50"
	}
	if slices.Contains(sizes(), key) {
		return "a number of tokens, like 32768"
	}
	return "a text in quotes"
}

// providerTables returns the settings of providers, each as a text; checkKinds has checked them.
func providerTables(written map[string]any) map[string]map[string]string {
	tables, _ := written["providers"].(map[string]any)
	if len(tables) == 0 {
		return nil
	}
	out := map[string]map[string]string{}
	for name, table := range tables {
		out[name] = map[string]string{}
		flatten(out[name], "", table)
	}
	return out
}

func flatten(into map[string]string, at string, value any) {
	table, ok := value.(map[string]any)
	if !ok {
		if f, ok := value.(float64); ok {
			into[at] = strconv.FormatFloat(f, 'f', -1, 64)
			return
		}
		into[at] = fmt.Sprint(value)
		return
	}
	for key, v := range table {
		if at != "" {
			key = at + "." + key
		}
		flatten(into, key, v)
	}
}

func fits(f reflect.StructField, v any) bool {
	switch v := v.(type) {
	case string:
		if f.Type == reflect.TypeFor[time.Duration]() {
			_, err := time.ParseDuration(v)
			return err == nil
		}
		return f.Type.Kind() == reflect.String
	case int64:
		return f.Type.Kind() == reflect.Int || v == 0 && f.Type == reflect.TypeFor[time.Duration]()
	case bool:
		return f.Type.Kind() == reflect.Bool
	case []any:
		return f.Type.Kind() == reflect.Slice && !slices.ContainsFunc(v, func(one any) bool { _, ok := one.(string); return !ok })
	}
	return false
}

// shownOf writes a setting's value as a file does; a secret isn't repeated.
func shownOf(f reflect.StructField, v any) string {
	if f.Tag.Get("secret") == "true" {
		return "no text"
	}
	return shown(v)
}

func shown(v any) string {
	switch v := v.(type) {
	case string:
		return strconv.Quote(v)
	case map[string]any:
		return "a table"
	}
	return fmt.Sprint(v)
}
