// Works with prompts through Langfuse's client for Node as it is published.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.SDK_HOME}/`);
const { LangfuseClient } = await import(pathToFileURL(require.resolve("@langfuse/client")));
const client = new LangfuseClient({
  publicKey: "admin", secretKey: "sk-admin", baseUrl: process.env.BASE_URL,
});

const first = await client.prompt.create({
  name: "folder/greeting", prompt: "Dear {{name}}", labels: ["production"], tags: ["t"],
  config: { temperature: 0.5 },
});
assert.deepEqual([first.version, first.labels], [1, ["production", "latest"]]);
await client.prompt.create({ name: "folder/greeting", prompt: "Hi {{name}}" });
const got = await client.prompt.get("folder/greeting");
assert.equal(got.version, 1);
assert.equal(got.compile({ name: "<{{b}}>" }), "Dear <{{b}}>");
await client.prompt.update({ name: "folder/greeting", version: 2, newLabels: ["production"] });
assert.equal((await client.prompt.get("folder/greeting", { cacheTtlSeconds: 0 })).version, 2);

await client.prompt.create({
  name: "chat", type: "chat", labels: ["production"],
  prompt: [{ role: "system", content: "Be {{mood}}." }, { type: "placeholder", name: "history" }],
});
const chat = await client.prompt.get("chat", { type: "chat" });
assert.deepEqual(
  chat.compile({ mood: "kind" }, { history: [{ role: "user", content: "Hello" }] }),
  [{ role: "system", content: "Be kind." }, { role: "user", content: "Hello" }],
);

// A prompt of ours, in another format and with a shared variable.
const greet = await client.prompt.get("greet.hello");
assert.equal(greet.compile({ name: "Ada" }), "Hello Ada in go");

const fallback = await client.prompt.get("nobody", { fallback: "else {{x}}", maxRetries: 0 });
assert.ok(fallback.isFallback);
await assert.rejects(client.prompt.get("hard", { maxRetries: 0 }));
await client.prompt.delete("folder/greeting", { version: 1 });
await assert.rejects(client.prompt.get("folder/greeting", { version: 1, maxRetries: 0 }));
console.log("ok all");
process.exit(0);
