package main

import (
	"errors"
	"fmt"
	"strings"
	"text/template"
)

// functions are those that the conformance vectors describe.
func functions() template.FuncMap {
	var tags []string
	return template.FuncMap{
		"zero":    func() string { return "zero" },
		"one":     func(s string) string { return "one(" + s + ")" },
		"two":     func(a, b string) string { return "two(" + a + "," + b + ")" },
		"vari":    func(sep string, rest ...string) string { return strings.Join(rest, sep) },
		"add":     add,
		"addf":    func(a, b float64) float64 { return a + b },
		"isbool":  isBool,
		"echo":    func(v any) any { return v },
		"typeOf":  typeOf,
		"list":    func(items ...any) []any { return append([]any{}, items...) },
		"dict":    dict,
		"fail":    func(s string) (string, error) { return "", errors.New(s) },
		"nilany":  func() any { return nil },
		"toInt":   toInt,
		"toFloat": toFloat,
		"mkfn":    func() func(string) string { return func(s string) string { return "fn(" + s + ")" } },
		"boom":    func() string { panic("boom happened") },
		"trace":   func(tag string, v any) any { tags = append(tags, tag); return v },
		"traced":  func() string { return strings.Join(tags, ",") },
		"tool": func(args ...any) (any, error) {
			return map[string]any{"args": append([]any{}, args...), "n": float64(len(args)), "ok": true}, nil
		},
		"upper": strings.ToUpper,
		"join":  join,
		"tool_lookup_ref": func(args ...any) (any, error) {
			return "ref:" + fmt.Sprint(args...), nil
		},
	}
}

func add(numbers ...int) int {
	sum := 0
	for _, n := range numbers {
		sum += n
	}
	return sum
}

func isBool(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func typeOf(v any) string {
	switch v.(type) {
	case nil:
		return "nil"
	case bool:
		return "bool"
	case int:
		return "int"
	case float64:
		return "float"
	case complex128:
		return "complex"
	case string:
		return "string"
	case []any:
		return "list"
	case map[string]any:
		return "map"
	}
	return fmt.Sprintf("other:%T", v)
}

func dict(args ...any) (map[string]any, error) {
	if len(args)%2 != 0 {
		return nil, errors.New("dict: odd number of arguments")
	}
	m := map[string]any{}
	for i := 0; i < len(args); i += 2 {
		key, ok := args[i].(string)
		if !ok {
			return nil, errors.New("dict: keys must be strings")
		}
		m[key] = args[i+1]
	}
	return m, nil
}

func toInt(v any) (int, error) {
	switch n := v.(type) {
	case float64:
		return int(n), nil
	case int:
		return n, nil
	}
	return 0, errors.New("toInt: not a number")
}

func toFloat(v any) (float64, error) {
	switch n := v.(type) {
	case float64:
		return n, nil
	case int:
		return float64(n), nil
	}
	return 0, errors.New("toFloat: not a number")
}

func join(sep string, items []any) string {
	var texts []string
	for _, item := range items {
		texts = append(texts, fmt.Sprint(item))
	}
	return strings.Join(texts, sep)
}
