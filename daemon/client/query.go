package client

import (
	"fmt"
	"net/url"
	"reflect"
	"strings"
)

// optional is a parameter that knows whether it was given.
type optional interface{ Text() (string, bool) }

// queryOf encodes the fields of a struct that have the tag query. Zero values are left out, arrays become repeated
// keys.
func queryOf(params any) url.Values {
	values := url.Values{}
	if params != nil {
		addQuery(values, reflect.ValueOf(params))
	}
	return values
}

func addQuery(values url.Values, v reflect.Value) {
	for i := range v.NumField() {
		field, fv := v.Type().Field(i), v.Field(i)
		name, _, _ := strings.Cut(field.Tag.Get("query"), ",")
		if name == "" {
			if field.Anonymous {
				addQuery(values, fv)
			}
			continue
		}
		if o, ok := fv.Interface().(optional); ok {
			if text, set := o.Text(); set {
				values.Set(name, text)
			}
			continue
		}
		switch {
		case fv.Kind() == reflect.Slice:
			for j := range fv.Len() {
				values.Add(name, fmt.Sprint(fv.Index(j).Interface()))
			}
		case !fv.IsZero():
			values.Set(name, fmt.Sprint(fv.Interface()))
		}
	}
}
