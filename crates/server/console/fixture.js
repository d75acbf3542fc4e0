// Writes a test case for `quillet test` (docs/scripts/testing.md).

/** JSON is valid YAML. Characters that YAML parsers treat differently are escaped. */
function yaml(value) {
  return JSON.stringify(value).replace(/[\u007f-\u009f\u2028\u2029\ufeff]/g, (sign) => `\\u${sign.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/**
 * Returns one test. `script`: ID of the stored prompt; `input`: its variables; `expects`: `contains`,
 * `equals` or `judge`, with the text `what`; `reply`: the recorded model response, or null.
 */
export function fixture({ title, script, input, model, expects, what, reply }) {
  // A plain string such as /this/ would be parsed as a pattern.
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
