// A package over the module with the names of the package for Node, for that one's tests.

import { readFileSync } from 'node:fs';
import { load } from './quillet.mjs';

export const { Template, QuilletError, check, convert, float, formats } = await load(
  readFileSync(new URL('quillet.wasm', import.meta.url)),
);
