// A test of a prompt in the file that `quillet test` reads (docs/scripts/testing.md).

/** JSON is YAML; what its parsers disagree on is written as an escape. */
function yaml(value) {
  return JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * One test. `script`: the id of the prompt in the store; `input`: its variables; `expects`: `contains`,
 * `equals` or `judge` with the text `what`; `reply`: what stands in for the model, or null.
 */
export function fixture({ title, script, input, model, expects, what, reply }) {
  // Texts such as /this/ would be read as patterns.
  const expected = {
    contains: { output: { $contains: what } },
    equals: { output: { $eq: what } },
    judge: { expect: { judge: what } },
  }[expects];
  const lines = [
    `script: ${yaml(script)}`,
    ...(model ? [`parameters: ${yaml({ model })}`] : []),
    `input: ${yaml(input)}`,
    ...(reply === null ? [] : [`replies: ${yaml([{ reply }])}`]),
    ...Object.entries(expected).map(([key, value]) => `${key}: ${yaml(value)}`),
  ];
  return `- title: ${yaml(title)}\n${lines.map((line) => `  ${line}\n`).join('')}`;
}
