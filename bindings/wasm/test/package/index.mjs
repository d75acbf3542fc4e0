// Wraps the module under the names of the Node package, to run that package's tests.

import { readFileSync } from 'node:fs';
import { load } from './quillet.mjs';

export const { Template, QuilletError, check, convert, float, formats } = await load(
  readFileSync(new URL('quillet.wasm', import.meta.url)),
);
