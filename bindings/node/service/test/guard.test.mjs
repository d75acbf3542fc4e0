// The SQL guard gives the same verdicts as in Rust, for every vector.

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { checkQuery, QuilletError } from 'quillet/service';

const FILES = { guard: 700, 'sql-safety': 218, 'sql-limit': 67 };
// The verdicts of `crates/sql/examples/verdicts.rs`.
const TABLES = {
  users: ['id', 'name', 'email', 'age', 'created_at'],
  orders: ['id', 'user_id', 'total', 'status', 'created_at'],
};
const HOMES = { postgresql: 'public.', mysql: 'db.', sqlite: 'main.' };

const lines = readFileSync(process.env.QUILLET_VERDICTS, 'utf8').trimEnd().split('\n');
const verdicts = new Map(
  lines.map((line) => {
    const { file, number, known, ...verdict } = JSON.parse(line);
    return [`${file} ${number} ${known}`, verdict];
  }),
);

function verdict({ sql, dialect, mode, cap }, known) {
  try {
    return checkQuery(sql, dialect, known ? TABLES : null, { mode, rows: cap });
  } catch (error) {
    if (!(error instanceof QuilletError)) throw error;
    const { code, reason, line = null, column = null, hint = null } = error;
    return { code, message: reason, line, column, hint };
  }
}

for (const [name, least] of Object.entries(FILES)) {
  for (const known of [false, true]) {
    test(`${name}, ${known ? 'tables known' : 'any table'}`, () => {
      const place = join(process.env.QUILLET_CONFORMANCE, 'sql', `${name}.json`);
      const { cases } = JSON.parse(readFileSync(place, 'utf8'));
      assert.ok(cases.length >= least);
      cases.forEach((one, number) => {
        const wanted = verdicts.get(`${name} ${number} ${known}`);
        if (known && wanted.tables) {
          // Tables have the names that were passed, without a schema.
          const home = HOMES[one.dialect];
          wanted.tables = wanted.tables.map((table) => table.replace(home, ''));
        }
        assert.deepEqual(verdict(one, known), wanted, one.sql);
      });
    });
  }
}

test('queries are accepted or rejected', () => {
  const sql = 'SELECT u.name -- all\nFROM users u JOIN orders o ON o.user_id = u.id';
  const checked = checkQuery(sql, 'postgres', TABLES, { rows: 10 });
  assert.deepEqual(checked.tables, ['users', 'orders']);
  assert.equal(checked.shown, `${sql} LIMIT 10`);
  assert.ok(!checked.sql.includes('all') && checked.sql.endsWith('LIMIT 11'));
  assert.equal(
    checkQuery('SELECT 1 FROM users', 'sqlite', null, { rows: null }).sql,
    'SELECT 1 FROM users',
  );
  const refused = [
    ['SELECT *\nFROM usrs', 'sql.guard.table', 2, 6],
    ['SELECT nmae FROM users', 'sql.guard.column', 1, 8],
    ['DELETE FROM users', 'sql.guard.statement', 1, 1],
  ];
  for (const [sql, code, line, column] of refused) {
    assert.throws(() => checkQuery(sql, 'postgresql', TABLES), { code, line, column });
  }
  assert.throws(() => checkQuery('SELECT 1', 'oracle'), /oracle.*dialects are/);
  assert.throws(() => checkQuery(1), { code: 'option.kind' });
  assert.throws(() => checkQuery('SELECT 1', 'sqlite', { users: 'id' }), { code: 'option.kind' });
  assert.throws(() => checkQuery('SELECT 1', 'sqlite', null, { rows: -1 }), {
    code: 'option.kind',
  });
  assert.throws(() => checkQuery('SELECT 1', 'sqlite', null, { mode: 'write' }), /modes are/);
});
