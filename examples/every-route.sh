#!/usr/bin/env bash
# Starts a Redis and a Quillet on free ports, registers what other programs
# would register, calls every route with curl and prints what came back. At the
# end it says which routes nobody called, and fails if there are any.
# Needs redis-server, redis-cli, sqlite3 and curl; QUILLET names the binary to use.
set -euo pipefail
cd "$(dirname "$0")/.."

quillet=${QUILLET:-}
if [ -z "$quillet" ]; then
  cargo build --quiet --bin quillet --features full
  quillet=${CARGO_TARGET_DIR:-target}/debug/quillet
fi

work=$(mktemp -d)
trap 'kill $(jobs -p) 2>/dev/null || true; wait 2>/dev/null || true; rm -rf "$work"' EXIT

free_port() {
  # A port that nothing answers on at this moment.
  local port
  while :; do
    port=$((20000 + RANDOM % 20000))
    (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null || { echo "$port"; return; }
  done
}

redis_port=$(free_port)
port=$(free_port)
base="http://127.0.0.1:$port"
redis-server --port "$redis_port" --save '' --dir "$work" >"$work/redis.log" &
until redis-cli -p "$redis_port" ping >/dev/null 2>&1; do sleep 0.05; done
set_key() { redis-cli -p "$redis_port" set "$1" "$2" >/dev/null; }

set_key shenma:environs:vscode:programming_language '"go"'
set_key shenma:environs:vscode:frameworks '["gin", "gorm"]'
set_key shenma:environs:codebase:lines 1234567
set_key shenma:tools:codebase:frameworks "{
  \"name\": \"frameworks\", \"module\": \"codebase\", \"type\": \"restful\",
  \"description\": \"The frameworks of the project\",
  \"url\": \"$base/api/environs/vscode.frameworks\", \"method\": \"GET\",
  \"parameters\": {\"type\": \"object\", \"properties\": {}},
  \"returns\": {\"type\": \"array\"}}"
set_key shenma:extensions:zgsm:evaluator '{
  "name": "evaluator", "publisher": "zgsm-ai", "extensionType": "prompt", "version": "1.0.0",
  "contributes": {"prompts": [{"name": "quality", "messages": [
    {"role": "system", "content": "You review {{.vscode.programming_language}} code."},
    {"role": "user", "content": "{{.variables.repo}} has {{.codebase.lines}} lines and uses:{{range codebase_frameworks}}\n- {{.}}{{end}}"}],
    "parameters": [{"name": "repo", "type": "string", "default": "This project", "description": "Name of the repository"}]}]}}'
set_key shenma:templates:greet:hello '{"userPrompt": "Say hello to {{.variables.name}} in {{.vscode.programming_language}}."}'
set_key shenma:templates:greet:chinese '{"format": "jinja", "userPrompt": "用{{ vscode.programming_language }}向{{ variables.name }}问好。"}'
set_key shenma:templates:greet:broken '{"userPrompt": "Hello {{if .variables.name}}"}'
set_key shenma:templates:greet:script '{"format": "script", "source": "---\ntitle: A greeting\ninput:\n  - name: {type: string, index: 0, required: true}\n---\nuser: Greet {{name}}.\n"}'

QUILLET_BUDGET_DAY_TOKENS=1000000 QUILLET_TRACES="$work/traces.db" \
"$quillet" serve --store "redis://127.0.0.1:$redis_port" --model mock --listen "127.0.0.1:$port" 2>"$work/quillet.log" &
until curl -fsS "$base/readyz" >/dev/null 2>&1; do sleep 0.05; done

call() {
  echo
  echo "\$ curl $*" | sed "s|$base|http://127.0.0.1:8080|; s|$work|/tmp|g"
  curl -sS "$@" >"$work/answer"
  head -c 1200 "$work/answer"
  echo
}

call "$base/api/extensions"
call "$base/api/extensions/zgsm.evaluator"
call "$base/api/prompts"
call "$base/api/prompts/greet.broken"
call "$base/api/environs"
call "$base/api/environs/vscode"
call "$base/api/tools"
call "$base/api/tools/codebase.frameworks"
call -d '{"variables": {"repo": "quillet"}}' "$base/api/render/prompts/evaluator.quality"
call -d '{"variables": {"name": "Ada"}}' "$base/api/render/prompts/greet.hello"
call -d '{"variables": {"name": "Ada"}}' "$base/api/render/prompts/greet.chinese"
call -d '{"args": {"name": "Ada"}}' "$base/api/prompts/greet.hello/render"
call -d '{}' "$base/api/render/prompts/greet.hello"
call -d '{}' "$base/api/render/prompts/greet.broken"
call -d '{}' "$base/api/render/prompts/greet.helo"
call -d '{"variables": {"name": "Ada"}}' "$base/api/chat/prompts/greet.hello"
call -N -d '{"variables": {"name": "Ada"}, "stream": true}' "$base/api/chat/prompts/greet.hello"
call -d '{"args": {"name": "Ada"}}' "$base/api/prompts/greet.hello/chat"
call "$base/api/prompts/greet.script"
call -d '{"variables": {"name": "Ada"}}' "$base/api/render/prompts/greet.script"
call -d '{"variables": {"name": "Ada"}}' "$base/api/chat/prompts/greet.script"
call -N -d '{"variables": {"name": "Ada"}, "stream": true}' "$base/api/chat/prompts/greet.script"
call -d '{"model": "prompt/greet.script", "messages": [{"role": "user", "content": "Ada"}]}' "$base/v1/chat/completions"

call -d '{"template": "Hi {{.variables.name}}", "variables": {"name": "Ada"}}' "$base/api/render"
call -d '{"format": "go", "text": "Hi {{.variables.name"}' "$base/api/source"
call "$base/v1/models"
call "$base/v1/models/prompt%2Fgreet.hello"
call -d '{"model": "mock", "input": "Hi"}' "$base/v1/responses"
response=$(curl -sS -d '{"model": "mock", "input": "Hi"}' "$base/v1/responses" | sed 's/^{"id":"\([^"]*\)".*/\1/')
call "$base/v1/responses/$response"
call -X DELETE "$base/v1/responses/$response"

# What may be spent, and what is left of it.
call "$base/v1/budgets"
call -H 'X-Quillet-Budget: tokens=5' -d '{"model": "mock", "messages": [{"role": "user", "content": "Hi"}]}' "$base/v1/chat/completions"

# An agent whose tool somebody has to agree to: the run waits, and goes on when it is decided about.
call -X PUT -d '{"model": "mock", "instructions": "Be kind.", "tools": ["prompt/greet.hello"], "ask": ["prompt_greet_hello"]}' "$base/api/agents/clerk"
clerk='{"model_config": {"model_id": "agent/clerk", "model": "mock"}, "input": {"text": "Say hello to Ada"}}'
call -H 'X-Request-Id: clerk-1' -d "$clerk" "$base/v1/response"
call "$base/v1/runs?state=waiting"
call -d '{"decision": "maybe"}' "$base/v1/response/clerk-1/decide"
call -d '{"decision": "edit", "arguments": {"name": "Ada Lovelace"}}' "$base/v1/response/clerk-1/decide"
until curl -sS "$base/v1/runs/clerk-1" | grep -q '"state":"ended"'; do sleep 0.05; done
call -N "$base/v1/response/clerk-1/events"
call "$base/v1/runs/clerk-1"
call -d '{"decision": "approve"}' "$base/v1/response/clerk-1/decide"
call -d '{"at": 2, "system": "Be brief."}' "$base/v1/runs/clerk-1/fork"
call -X DELETE -w '%{http_code}\n' "$base/v1/runs/clerk-1"
call -d '{"request_id": "clerk-1"}' "$base/v1/response/cancel"
call "$base/v1/traces?limit=1"
trace=$(curl -sS "$base/v1/traces?limit=1" | grep -o '"[0-9a-f]\{32\}"' | head -1 | tr -d '"')
call "$base/v1/traces/$trace"

printf '{"custom_id": "1", "method": "POST", "url": "/v1/chat/completions", "body": {"model": "mock", "messages": [{"role": "user", "content": "Hi"}]}}\n' >"$work/rows.jsonl"
call -F purpose=batch -F "file=@$work/rows.jsonl" "$base/v1/files"
file=$(curl -sS "$base/v1/files" | sed 's/.*"first_id":"\([^"]*\)".*/\1/')
call "$base/v1/files/$file"
call "$base/v1/files/$file/content"
call -d "{\"input_file_id\": \"$file\", \"endpoint\": \"/v1/chat/completions\", \"completion_window\": \"24h\"}" "$base/v1/batches"
batch=$(curl -sS "$base/v1/batches" | sed 's/.*"first_id":"\([^"]*\)".*/\1/')
until curl -sS "$base/v1/batches/$batch" | grep -q '"status":"completed"'; do sleep 0.05; done
call "$base/v1/batches"
call "$base/v1/batches/$batch"
call -X POST "$base/v1/batches/$batch/cancel"
call -X DELETE "$base/v1/files/$file"
# Rows for a model without a batch API of its own are refused by name.
file=$(curl -sS -F purpose=batch -F "file=@$work/rows.jsonl" "$base/v1/files" | sed 's/.*"id":"\(file-[^"]*\)".*/\1/')
call -d "{\"input_file_id\": \"$file\", \"endpoint\": \"/v1/chat/completions\", \"completion_window\": \"24h\", \"provider_batch\": true}" "$base/v1/batches"

sqlite3 "$work/shop.db" "CREATE TABLE customers (id integer PRIMARY KEY, name text, city text);
  INSERT INTO customers VALUES (1, 'Ann', 'Oslo'), (2, 'Bob', 'Rome'), (3, 'Cai', 'Oslo');"
dbs="$base/api/v1/dbs"
call -X PUT -d "{\"url\": \"sqlite:$work/shop.db\"}" "$dbs/shop"
call "$dbs"
call "$dbs/shop"
call -X POST "$dbs/shop/test"
call -d '{"url": "postgresql://ann:secret@127.0.0.1:1/shop"}' "$dbs/other/test"
call "$dbs/shop/metadata"
call -X POST "$dbs/shop/metadata/refresh"
call "$dbs/shop/metadata/tables"
call "$dbs/shop/metadata/tables/main/customers"
call -d '{"sql": "SELECT city, count(*) AS n FROM customers GROUP BY city"}' "$dbs/shop/query"
call -d '{"sql": "SELECT name FROM customers"}' "$dbs/shop/query?format=csv"
call -d '{"sql": "DELETE FROM customers"}' "$dbs/shop/query"
call -d '{"prompt": "How many customers are there?", "run": true}' "$dbs/shop/query/natural"
call -d '{"sql": "select name from customers where id=1"}' "$dbs/format"
call "$dbs/shop/history?limit=1"
call "$dbs/shop/history/search?query=city"
query=$(curl -sS "$dbs/shop/history?limit=1" | sed 's/.*"id":\([0-9]*\).*/\1/')
call -X POST "$dbs/shop/history/$query/accept"
call -X DELETE "$dbs/shop/history/$query/accept"
call "$dbs/shop/versions"
call "$dbs/shop/versions/1"
call "$dbs/shop/versions/1"
call -X PUT -d "{\"url\": \"sqlite:$work/shop.db\", \"description\": \"Customers\"}" "$dbs/shop"
call "$dbs/shop/diff"
call -X POST "$dbs/shop/rollback"
call -X DELETE -w '%{http_code}\n' "$dbs/shop"
hello="$base/api/prompts/greet.hello"
call -X PUT -d '{"userPrompt": "Hello {{.variables.name}}"}' "$hello?message=Shorter&label=next"
call -X POST -d '{"userPrompt": "Hello {{.variables.name}}"}' "$hello"
call -X PATCH -H 'If-Match: "3"' -d '{"title": "A greeting"}' "$hello"
call -X PATCH -H 'If-Match: "3"' -d '{"title": "Too late"}' "$hello"
call -X PUT -d '{"userPrompt": "{{if"}' "$hello"
call "$hello/versions?limit=2"
call "$hello/versions/next"
call "$hello@1"
call "$hello/diff?from=1"
call -X PUT -d '{"versions": {"1": 90, "4": 10}, "by": "user"}' "$hello/labels/production"
call -X PUT -d '{"version": 4}' "$hello/labels/production"
call -X PUT -d '{"version": 3}' "$hello/labels/production"
call -X POST "$hello/labels/production/rollback"
call -X DELETE "$hello/labels/next"
call "$hello/labels"
call -X DELETE "$hello?message=No+longer+used"
call -d '{"userPrompt": "{{if"}' "$base/api/prompts/greet.chinese/check"

# What a definition of any kind has.
definition() {
  local at="$base/api/$1"
  call -X DELETE "$at?message=To+begin+with"
  call -X POST -d "$2" "$at"
  call -X PUT -d "$2" "$at"
  call -X PATCH -d '{"description": "A greeting"}' "$at"
  call "$at"
  call -d "$2" "$at/check"
  call "$at/versions"
  call "$at/versions/1"
  call "$at/diff"
  call -X PUT -d '{"version": 2}' "$at/labels/production"
  call -X PUT -d '{"version": 3}' "$at/labels/production"
  call -X POST "$at/labels/production/rollback"
  call "$at/labels"
  call -X DELETE "$at/labels/production"
  call -X DELETE "$at"
}
call "$base/api/agents"
definition agents/helper '{"model": "mock", "instructions": "Be kind."}'
definition tools/greet.tool '{"type": "restful", "url": "http://127.0.0.1:1/", "method": "GET"}'
definition extensions/any.greet '{"name": "greet", "publisher": "any", "extensionType": "prompt", "version": "1.0.0", "contributes": {}}'
call "$base/api/log?limit=3"
call -d '{"jsonrpc": "2.0", "id": 1, "method": "tools/list"}' -H 'Content-Type: application/json' -H 'Accept: application/json, text/event-stream' "$base/mcp"
call "$base/v1/system"
for path in healthz readyz health ready startup v1/health; do call "$base/$path"; done
for path in "" docs swagger/index.html console/app.js; do
  call -o "$work/page" -w '%{http_code} %{content_type}\n' "$base/$path"
done
echo
echo "\$ curl http://127.0.0.1:8080/metrics | grep -c quillet_"
curl -sS "$base/metrics" | grep -c quillet_
echo
echo "\$ curl http://127.0.0.1:8080/openapi.json | head -c 200"
curl -sS "$base/openapi.json" >"$work/openapi.json"
head -c 200 "$work/openapi.json"
echo

# Which routes there are, and which were called. Names with and without v1 are the same routes.
sqlite3 -separator ' ' :memory: "SELECT upper(how.key), route.key FROM json_each(readfile('$work/openapi.json'), '\$.paths') AS route,
  json_each(route.value) AS how WHERE route.key NOT LIKE '/api/v1/%' OR route.key LIKE '/api/v1/dbs%'" | sort >"$work/routes"
curl -sS "$base/metrics" | sed -n 's/^quillet_http_requests_total{method="\([A-Z]*\)",route="\([^"]*\)".*/\1 \2/p' | sort -u >"$work/called"
missed=$(comm -23 "$work/routes" "$work/called")
if [ -n "$missed" ]; then
  echo "routes that nobody called:" >&2
  echo "$missed" >&2
  exit 1
fi
echo "$(wc -l <"$work/routes") routes, each of which was called"
