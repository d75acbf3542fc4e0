// Asks for a stored prompt with OpenAI's Node SDK as it is published.

import assert from "node:assert/strict";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const require = createRequire(`${process.env.SDK_HOME}/`);
const { default: OpenAI } = await import(pathToFileURL(require.resolve("openai")));
const client = new OpenAI({
  baseURL: `${process.env.BASE_URL}/v1`, apiKey: "sk-admin", maxRetries: 0,
});
const prompt = { id: "pmpt_hello", version: "1", variables: { name: "Ada" } };
const said = (text) => JSON.parse(text).messages.map((message) => message.content);

const answer = await client.responses.create({ prompt });
assert.deepEqual(said(answer.output_text), ["Hello Ada in go"]);
assert.deepEqual(answer.prompt, prompt);
assert.equal(answer.model, "scripted-a");

let text = "";
let last;
for await (const event of await client.responses.create({ prompt, input: "More", stream: true })) {
  if (event.type === "response.output_text.delta") text += event.delta;
  last = event;
}
assert.deepEqual(said(text), ["Hello Ada in go", "More"]);
assert.equal(last.type, "response.completed");
assert.deepEqual(last.response.prompt, prompt);

await assert.rejects(
  client.responses.create({ prompt: { id: "pmpt_nobody" } }), OpenAI.NotFoundError);
console.log("ok all");
