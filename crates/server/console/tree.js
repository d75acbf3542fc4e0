// Groups prompt IDs into a tree of folders.

/** Returns the segments of an ID, each with its separator. */
function segments(id) {
  return id.match(/[^.:/]*[.:/]|[^.:/]+$/g) ?? [id];
}

/** Returns the prompts as a tree, for `rowsOf`. */
export function grown(prompts) {
  const root = { children: new Map(), prompts: [] };
  for (const prompt of prompts) {
    const parts = segments(prompt.id);
    // A separator at the end belongs to the name.
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

/** Returns the prefixes of all folders. */
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
 * Returns the visible rows, folders first: `{ prompt, label }` or `{ prefix, label, count, broken,
 * expanded }`, each with its `level`, its `place` among its siblings and their `size`.
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
