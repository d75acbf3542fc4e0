// Go's text/template on the prompts of prompts.py; lines as those of peers.py.
//
//	go run . prompts.json
package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"text/template"
)

const (
	batches = 7
	batch   = 30_000_000
)

type prompt struct {
	Name      string
	Data      map[string]any
	Expected  string
	Templates map[string]string
}

func cpu() int64 {
	var used syscall.Rusage
	syscall.Getrusage(syscall.RUSAGE_SELF, &used)
	return used.Utime.Nano() + used.Stime.Nano()
}

func spend(work func(), count int64) int64 {
	start := cpu()
	for turn := int64(0); turn < count; turn++ {
		work()
	}
	return cpu() - start
}

// nanoseconds is the CPU time of a piece of work in its best batch.
func nanoseconds(work func()) int64 {
	count := int64(1)
	for spend(work, count) < batch {
		count *= 2
	}
	best := spend(work, count)
	for turn := 1; turn < batches; turn++ {
		best = min(best, spend(work, count))
	}
	return best / count
}

func min(a, b int64) int64 {
	if a < b {
		return a
	}
	return b
}

func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	raw, err := os.ReadFile(os.Args[1])
	must(err)
	var prompts []prompt
	must(json.Unmarshal(raw, &prompts))
	engine := "text/template " + strings.TrimPrefix(runtime.Version(), "go")
	for _, p := range prompts {
		text := p.Templates["go"]
		compiled := template.Must(template.New(p.Name).Parse(text))
		var out bytes.Buffer
		must(compiled.Execute(&out, p.Data))
		if out.String() != p.Expected {
			panic(p.Name + " gives another text")
		}
		compile := nanoseconds(func() {
			_, err := template.New(p.Name).Parse(text)
			must(err)
		})
		render := nanoseconds(func() {
			out.Reset()
			must(compiled.Execute(&out, p.Data))
		})
		fmt.Printf("go\t%s\t%s\t%d\t%d\n", engine, p.Name, compile, render)
	}
}
