// Ids as a tree: the rows of a list in which folders open and close.

/** The segments of an id, each with the sign that ends it. */
function segments(id) {
  return id.match(/[^.:/]*[.:/]|[^.:/]+$/g) ?? [id];
}

/** All prompts as a tree, for `rowsOf`. */
export function grown(prompts) {
  const root = { children: new Map(), prompts: [] };
  for (const prompt of prompts) {
    const parts = segments(prompt.id);
    // A sign at the very end belongs to the name.
    const last = parts.pop();
    let node = root;
    let prefix = '';
    for (const part of parts) {
      prefix += part;
      let next = node.children.get(part);
      if (!next) {
        next = { prefix, label: part, children: new Map(), prompts: [], count: 0, broken: 0 };
        node.children.set(part, next);
      }
      next.count += 1;
      if (prompt.status === 'invalid') next.broken += 1;
      node = next;
    }
    node.prompts.push({ prompt, label: last });
  }
  return root;
}

/** The prefixes of all folders. */
export function folders(tree) {
  const found = [];
  const walk = (node) => {
    for (const child of node.children.values()) {
      found.push(child.prefix);
      walk(child);
    }
  };
  walk(tree);
  return found;
}

/**
 * The rows that can be seen, folders first: `{ prompt, label }` or `{ prefix, label, count, broken,
 * expanded }`, each with `level`, `place` and `size` among its siblings.
 */
export function rowsOf(tree, isOpen) {
  const rows = [];
  const walk = (node, level) => {
    const size = node.children.size + node.prompts.length;
    let place = 0;
    for (const child of node.children.values()) {
      place += 1;
      const expanded = isOpen(child.prefix);
      const { prefix, label, count, broken } = child;
      rows.push({ prefix, label, count, broken, expanded, level, place, size });
      if (expanded) walk(child, level + 1);
    }
    for (const leaf of node.prompts) {
      place += 1;
      rows.push({ ...leaf, level, place, size });
    }
  };
  walk(tree, 1);
  return rows;
}
