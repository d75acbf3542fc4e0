// Writes conformance vectors: random templates with what this Go makes of
// them. Usage: go run . COUNT SEED > FILE
package main

import (
	"bytes"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"text/template"
	"unicode/utf8"
)

const data = `{"s":"hello","n":3,"b":true,"f":false,"z":0,"e":"","nul":null,"el":[],"em":{},"one":1,"neg":-7,
"fl":3.25,"big":1234567,"huge":1e+21,"tiny":1e-07,"u":"héllo, 世界 😀","q":"it's \"q\" <b> & \\","v":"value","name":"n",
"l":["a","b","c"],"ln":[1,2.5,-3],"mix":[1,"x",true,null,[1,2],{"k":"v"}],"nest":[[1,2],[3],[]],
"m":{"a":1,"b":2,"c":{"d":"deep","e":[1,{"f":"g"}]}},"ml":[{"name":"x","v":1},{"name":"y","v":2},{"name":"z"}]}`

// addresses differ from run to run
var address = regexp.MustCompile(`0x[0-9a-f]{6,}`)

// Output beyond this would meet Quillet's limit.
const most = 1 << 20

var place = regexp.MustCompile(`^template: [^:]*:(\d+)(:\d+)?: `)

type vector map[string]any

func main() {
	count, _ := strconv.Atoi(os.Args[1])
	seed, _ := strconv.ParseInt(os.Args[2], 10, 64)
	var vectors []vector
	for i := range count {
		g := &generator{r: rand.New(rand.NewSource(seed + int64(i)))}
		if v := outcome(fmt.Sprintf("seed/%d", seed+int64(i)), g); v != nil {
			vectors = append(vectors, v)
		}
	}
	file := map[string]any{
		"meta":     map[string]any{"what": "Go text/template conformance vectors", "reference": runtime.Version()},
		"datasets": map[string]any{"data": json.RawMessage(data)},
		"vectors":  vectors,
	}
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(file); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func outcome(id string, g *generator) vector {
	v := vector{"id": id, "category": "random", "tier": "random", "entry": "t", "dataset": "data"}
	ints := g.chance(3)
	if ints {
		v["numbers"] = "int"
	}
	t := template.New("t").Funcs(functions())
	if option := g.pick("", "", "", "missingkey=error", "missingkey=zero"); option != "" {
		v["options"] = []string{option}
		t.Option(option)
	}
	text := g.program()
	if !utf8.ValidString(text) {
		return nil
	}
	v["templates"] = []map[string]string{{"name": "t", "text": text}}
	if _, err := t.Parse(text); err != nil {
		// Functions are bound late in Quillet, so this is no error of parsing there.
		if strings.HasSuffix(err.Error(), "not defined") {
			return nil
		}
		v["expect"] = failure("parse", err)
		return v
	}
	var out bytes.Buffer
	err := t.Execute(&out, decode(ints))
	if out.Len() > most || address.Match(out.Bytes()) || err != nil && address.MatchString(err.Error()) {
		return nil
	}
	v["expect"] = vector{"ok": true, "output": out.String()}
	if !utf8.Valid(out.Bytes()) {
		v["expect"] = vector{"ok": true, "output_hex": hex.EncodeToString(out.Bytes())}
	}
	if err != nil {
		v["expect"] = failure("exec", err)
	}
	return v
}

func failure(stage string, err error) vector {
	message := err.Error()
	reason := place.ReplaceAllString(message, "")
	if stage == "exec" {
		if _, after, found := strings.Cut(reason, ">: "); found {
			reason = after
		}
	}
	return vector{"ok": false, "stage": stage, "message": message, "reason": reason}
}

// decode reads the data; whole numbers become int if asked for.
func decode(ints bool) any {
	decoder := json.NewDecoder(strings.NewReader(data))
	if ints {
		decoder.UseNumber()
	}
	var value any
	if err := decoder.Decode(&value); err != nil {
		panic(err)
	}
	return numbers(value)
}

func numbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if n, err := strconv.Atoi(string(v)); err == nil {
			return n
		}
		f, _ := v.Float64()
		return f
	case []any:
		for i := range v {
			v[i] = numbers(v[i])
		}
	case map[string]any:
		for k := range v {
			v[k] = numbers(v[k])
		}
	}
	return value
}
