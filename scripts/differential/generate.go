package main

import (
	"fmt"
	"math/rand"
	"strings"
)

// generator writes random templates that are mostly well formed.
type generator struct {
	r *rand.Rand
	// variables in scope, without their dollar signs
	variables []string
	// how many ranges are around
	loops int
	// templates that may be called: only later ones, so that none recurs
	callable []string
}

func (g *generator) pick(choices ...string) string { return choices[g.r.Intn(len(choices))] }

// one in n
func (g *generator) chance(n int) bool { return g.r.Intn(n) == 0 }

// program is a whole template with its definitions.
func (g *generator) program() string {
	names := []string{"a", "b", "c"}[:g.r.Intn(4)]
	g.callable = names
	text := g.body(g.r.Intn(4))
	for i, name := range names {
		g.callable, g.variables, g.loops = names[i+1:], nil, 0
		text += fmt.Sprintf("{{define %q}}%s{{end}}", name, g.body(g.r.Intn(3)))
	}
	if g.chance(12) {
		text = g.mutate(text)
	}
	return text
}

// mutate breaks a template in one place.
func (g *generator) mutate(text string) string {
	if text == "" {
		return text
	}
	at := g.r.Intn(len(text))
	end := min(len(text), at+g.r.Intn(4))
	piece := g.pick("{{", "}}", "(", ")", "|", ".", "$", "\"", "'", "`", "-", " ", "{{end}}", "{{else}}", "\n", ",", "=", ":=", "0", "é", "\x00")
	switch g.r.Intn(3) {
	case 0:
		return text[:at] + text[end:]
	case 1:
		return text[:at] + piece + text[at:]
	}
	return text[:at] + piece + text[end:]
}

func (g *generator) body(depth int) string {
	kept := len(g.variables)
	var text strings.Builder
	for i := g.r.Intn(3) + 1; i > 0; i-- {
		text.WriteString(g.node(depth))
	}
	g.variables = g.variables[:kept]
	return text.String()
}

func (g *generator) node(depth int) string {
	choice := g.r.Intn(16)
	if depth <= 0 {
		choice = g.r.Intn(9)
	}
	switch choice {
	case 0, 1:
		return g.pick("text ", "\n", "  ", "é世", "a\tb", "}", "{ ", " - ", "x")
	case 2:
		return g.declare()
	case 3:
		if len(g.variables) > 0 {
			return g.action("$" + g.variable() + " = " + g.pipeline(2))
		}
		return g.action(g.pipeline(2))
	case 4:
		return g.pick("{{/* note */}}", "{{- /* note */ -}}", "{{/**/}}")
	case 9, 10:
		return g.branch("if", depth)
	case 11:
		return g.branch("with", depth)
	case 12, 13, 14:
		return g.loop(depth)
	case 15:
		return g.call()
	}
	if g.loops > 0 && g.chance(12) {
		return g.action("if "+g.pipeline(1)) + g.action(g.pick("break", "continue")) + g.action("end")
	}
	return g.action(g.pipeline(3))
}

// action puts delimiters around, now and then with trim markers.
func (g *generator) action(inner string) string {
	left, right := "{{", "}}"
	if g.chance(6) {
		left = g.pick("{{- ", "{{-\n", "{{ ")
	}
	if g.chance(6) {
		right = g.pick(" -}}", "\t-}}", " }}")
	}
	return left + inner + right
}

func (g *generator) declare() string {
	value := g.pipeline(2)
	name := g.pick("x", "y", "v1", "_z")
	g.variables = append(g.variables, name)
	return g.action("$" + name + " := " + value)
}

func (g *generator) variable() string {
	if g.chance(60) {
		return "undeclared"
	}
	return g.variables[g.r.Intn(len(g.variables))]
}

func (g *generator) branch(keyword string, depth int) string {
	kept := len(g.variables)
	head := g.pipeline(2)
	if g.chance(4) {
		head = "$w := " + head
		g.variables = append(g.variables, "w")
	}
	text := g.action(keyword+" "+head) + g.body(depth-1)
	if g.chance(3) {
		text += g.action("else "+keyword+" "+g.pipeline(1)) + g.body(depth-1)
	}
	if g.chance(2) {
		text += g.action("else") + g.body(depth-1)
	}
	g.variables = g.variables[:kept]
	return text + g.action("end")
}

func (g *generator) loop(depth int) string {
	kept := len(g.variables)
	head := g.pick(".l", ".m", ".ml", ".mix", ".el", ".n", ".s", ".nul", ".missing", ".nest", "3", g.pipeline(1))
	switch g.r.Intn(4) {
	case 0:
		head = "$i := " + head
		g.variables = append(g.variables, "i")
	case 1:
		head = "$k, $e := " + head
		g.variables = append(g.variables, "k", "e")
	}
	g.loops++
	text := g.action("range "+head) + g.body(depth-1)
	g.loops--
	if g.chance(3) {
		text += g.action("else") + g.body(depth-1)
	}
	g.variables = g.variables[:kept]
	return text + g.action("end")
}

func (g *generator) call() string {
	if len(g.callable) == 0 && !g.chance(20) {
		return "-"
	}
	name := "none"
	if len(g.callable) > 0 && !g.chance(20) {
		name = g.callable[g.r.Intn(len(g.callable))]
	}
	argument := ""
	if !g.chance(4) {
		argument = " " + g.pipeline(1)
	}
	return g.action(fmt.Sprintf("template %q%s", name, argument))
}

func (g *generator) pipeline(depth int) string {
	text := g.command(depth)
	for depth > 0 && g.chance(4) {
		if g.chance(50) {
			text += g.pick("|1", " | .s", " | nil")
		}
		text += g.pick(" | ", "|", " |") + g.pick(
			"print", "printf \"%v\"", "printf \"%5.1f|\"", "len", "not", "html", "js", "urlquery",
			"echo", "typeOf", "one", "upper", "list", "println", "printf \"%q\"", "index .l",
			"eq 1", "and .b", "or .f", "tool", "add 1", "trace \"t\"", "isbool", "toInt")
	}
	return text
}

func (g *generator) command(depth int) string {
	if depth <= 0 || g.chance(3) {
		return g.operand(depth)
	}
	a := func() string { return " " + g.operand(depth-1) }
	switch g.r.Intn(22) {
	case 0, 1:
		return "printf " + g.pick(`"%v"`, `"%d"`, `"%s"`, `"%q"`, `"%x"`, `"%5v|"`, `"%-6v|"`, `"%.2f"`, `"%T"`, `"%#v"`, `"%v %v"`, `"%[2]v"`, `"%t"`, `"%e"`, `"%08.3f"`, `"%+d"`, `"%*d"`, `"%!"`, `"%"`) + a() + g.pick("", a())
	case 2:
		return g.pick("print", "println") + a() + g.pick("", a(), a()+a())
	case 3, 4:
		return g.pick("eq", "ne", "lt", "le", "gt", "ge") + a() + a() + g.pick("", "", "", a())
	case 5:
		return g.pick("and", "or") + a() + g.pick("", a(), a()+a())
	case 6:
		return "not" + a()
	case 7:
		return "len" + a()
	case 8, 9:
		return "index" + g.pick(" .l", " .m", " .ml", " .mix", " .nest", " .s", a()) + a() + g.pick("", "", a())
	case 10:
		return "slice" + g.pick(" .l", " .s", " .u", a()) + g.pick("", " 1", " 1 2", " 0 2 2", a())
	case 11:
		return g.pick("html", "js", "urlquery") + a()
	case 12:
		return "call" + g.pick(" mkfn \"x\"", " (mkfn) "+g.operand(0), a())
	case 13:
		return "dict \"k\"" + a() + g.pick("", " \"j\""+a(), " 1")
	case 14:
		return "list" + g.pick("", a(), a()+a())
	case 15:
		return g.pick("one", "upper", "echo", "typeOf", "isbool", "toInt", "toFloat", "fail") + a()
	case 16:
		return "two" + a() + a()
	case 17:
		return "vari" + a() + g.pick("", a()+a())
	case 18:
		return "add" + g.pick("", a(), a()+a())
	case 19:
		return "tool" + g.pick("", a())
	case 20:
		return g.pick("zero", "nilany", "boom", "traced", "zero .x")
	}
	return "join \",\"" + a()
}

func (g *generator) operand(depth int) string {
	switch g.r.Intn(14) {
	case 0:
		return g.pick("1", "0", "-7", "42", "1.5", "1e3", "1e6", "0x1F", "0b11", "1_000", "'x'", "'\\n'", "1i", "2.5e-7", "9223372036854775807", "1e21", "017")
	case 1:
		return g.pick(`"s"`, `"hello"`, `""`, `"a\tb"`, "`raw`", `"é"`, `"<b>"`, `"x y"`, `"\x41"`)
	case 2:
		return g.pick("true", "false", "nil")
	case 3:
		return "."
	case 4, 5:
		if len(g.variables) > 0 {
			return "$" + g.variable() + g.pick("", "", "", ".v", ".a", ".name")
		}
		return g.pick("$", "$.s", "$.m.a")
	case 6:
		if depth > 0 {
			return "(" + g.pipeline(depth-1) + ")" + g.pick("", "", "", ".a", ".k", ".args", ".n")
		}
	case 7:
		return g.pick(".missing", ".x.y", ".nul", ".nul.x", ".s.x", ".l.x", ".m.missing", ".m.missing.x", ".el", ".em", ".e", ".z", ".f")
	}
	return g.pick(".s", ".n", ".b", ".l", ".m", ".m.a", ".m.c", ".m.c.d", ".ml", ".mix", ".fl", ".big", ".neg", ".u", ".q", ".nest", ".ln", ".huge", ".tiny", ".one", ".name", ".v")
}
