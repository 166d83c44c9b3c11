/* Tables of a point: what lives at its peak, what runs again, recipes beside it. */

const ROWS = 12;
const VALUE_WORDS = { outputs: "output", "saved tensors": "saved tensors", gradients: "output gradient", "parameter gradients": "weight gradient", inputs: "value", values: "value" };

/** An element with a text or children; texts are never read as HTML. */
function element(tag, attributes, ...children) {
  const made = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes || {})) made.setAttribute(name, value);
  made.append(...children.map((child) => (child instanceof Node ? child : String(child))));
  return made;
}

/** Fill a table: columns are [title, whether numbers]; rows are [cells, class]. */
function fillTable(table, columns, rows, caption) {
  const cell = (tag, text, k, more) => element(tag, { ...(columns[k][1] ? { class: "number" } : {}), ...more }, text);
  table.replaceChildren(
    ...(caption ? [element("caption", {}, caption)] : []),
    element("thead", {}, element("tr", {}, ...columns.map(([title], k) => cell("th", title, k, { scope: "col" })))),
    element("tbody", {}, ...rows.map(([cells, kind]) => element("tr", kind ? { class: kind } : {},
      ...cells.map((text, k) => (k === 0 ? cell("th", text, k, { scope: "row" }) : cell("td", text, k)))))),
  );
}

/** Runs of neighbouring rows that `same` finds alike: [first, last, sum] each. */
function runsOf(entries, same) {
  const runs = [];
  for (const [row, amount] of entries) {
    const run = runs[runs.length - 1];
    if (run && row === run[1] + 1 && same(run[3], amount)) {
      run[1] = row;
      run[2] += amount;
    } else {
      runs.push([row, row, amount, amount]);
    }
  }
  return runs;
}

function fillLive(table, when, view, facts) {
  const { tables, sequence, run } = view;
  const { live, running } = liveAt(tables, sequence, run.peakAt);
  const entries = [];
  if (Number(facts.static) > 0) entries.push(["static bytes", Number(facts.static)]);
  if (running >= 0) entries.push(["while it runs", tables.transient[running]]);
  tables.kinds.forEach((name, kind) => {
    const mine = [...live].filter((v) => tables.kind[v] === kind && tables.size[v] > 0)
      .map((v) => [tables.valueRow[v], tables.size[v]]).sort((a, b) => a[0] - b[0]);
    // The input is no stage's.
    const given = mine.filter(([row]) => row < 0).reduce((sum, [, bytes]) => sum + bytes, 0);
    if (given) entries.push([VALUE_WORDS[name] === "output" ? "input" : `${VALUE_WORDS[name]} of the input`, given]);
    for (const [first, last, sum] of runsOf(mine.filter(([row]) => row >= 0), () => true)) {
      entries.push([`${VALUE_WORDS[name]} of ${rowNames(tables, first, last)}`, sum]);
    }
  });
  entries.sort((a, b) => b[1] - a[1]);
  const rows = entries.slice(0, ROWS);
  const rest = entries.slice(ROWS);
  if (rest.length) rows.push([counted(rest.length, "other"), rest.reduce((sum, entry) => sum + entry[1], 0)]);
  const total = entries.reduce((sum, entry) => sum + entry[1], 0);
  const share = (bytes) => `${total ? (100 * bytes / total).toFixed(1) : "0.0"} %`;
  fillTable(table, [["what", false], ["bytes", true], ["share", true]],
    [...rows.map(([what, bytes]) => [[what, formatBytes(bytes), share(bytes)]]), [["all", formatBytes(total), share(total)], "chosen"]]);
  when.textContent = run.peakAt < 0 ? "Before the first operation." : `Reached at operation ${grouped(run.peakAt + 1)} of ${grouped(run.n)}: ${operationWords(view, run.peakAt)}.`;
}

/** What an operation does, in words. */
function operationWords(view, index) {
  const { tables, sequence } = view;
  const code = tables.table[sequence[index]];
  if (code < 0) {
    const v = -1 - code;
    return `releasing the ${VALUE_WORDS[tables.kinds[tables.kind[v]]]} of ${rowNames(tables, tables.valueRow[v], tables.valueRow[v])}`;
  }
  const node = tables.node[code];
  let again = false;
  for (let i = 0; i < index && !again; i++) {
    const earlier = tables.table[sequence[i]];
    again = earlier >= 0 && tables.node[earlier] === node;
  }
  const noun = tables.backward[node] ? "backward" : tables.chain ? "forward" : "computation";
  return `${again ? "a recomputed " : "the "}${noun} of ${rowNames(tables, tables.nodeRow[node], tables.nodeRow[node])}`;
}

function fillAgain(table, sum, view) {
  const { tables, run } = view;
  const entries = [];
  run.counts.forEach((count, node) => {
    if (count > 1) entries.push([tables.nodeRow[node], count - 1]);
  });
  entries.sort((a, b) => a[0] - b[0]);
  const all = entries.reduce((total, entry) => total + entry[1], 0);
  const most = entries.reduce((largest, entry) => Math.max(largest, entry[1]), 0);
  const noun = tables.chain ? "stage" : "node";
  sum.textContent = all === 0 ? "Nothing: every computation runs once."
    : `${counted(all, "recomputation")}, in ${grouped(entries.length)} of ${counted(tables.rows.length, noun)}; at most ${grouped(most)} of one.`;
  const runs = runsOf(entries, (a, b) => a === b);
  const rows = [...runs].sort((a, b) => b[2] - a[2] || a[0] - b[0]);
  const shown = rows.slice(0, ROWS).sort((a, b) => a[0] - b[0]).map(([first, last, total, each]) => [[rowNames(tables, first, last), grouped(each), grouped(total)]]);
  const rest = rows.slice(ROWS);
  if (rest.length) shown.push([[counted(rest.length, "other run"), "", grouped(rest.reduce((total, row) => total + row[2], 0))]]);
  table.hidden = all === 0;
  fillTable(table, [[`${noun}s`, false], ["again, each", true], ["together", true]], shown);
}

/** The last point within so many bytes; -1 if there is none. */
function pointWithin(facts, bytes) {
  const limit = BigInt(bytes), peaks = facts.points.peak;
  let low = 0, high = peaks.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (BigInt(peaks[middle]) <= limit) low = middle + 1; else high = middle;
  }
  return low - 1;
}

function fillBaselines(table, facts, chosen, budget, recomputed) {
  const base = BigInt(facts.baseTime), limit = BigInt(budget);
  const cost = (makespan) => percent(BigInt(makespan) - base, base);
  const best = [facts.exact ? "the optimum" : "this schedule", formatBytes(facts.points.peak[chosen]), "yes", cost(facts.points.makespan[chosen]), cost(facts.points.makespan[chosen]), grouped(recomputed)];
  const recipes = facts.baselines.map((recipe) => ({ ...recipe, fits: BigInt(recipe.peak) <= limit }))
    .sort((a, b) => b.fits - a.fits || Number(BigInt(a.makespan) - BigInt(b.makespan)));
  fillTable(table,
    [["schedule", false], ["peak", true], ["fits", false], ["overhead", true], [facts.exact ? "optimum there" : "best found there", true], ["recomputed", true]],
    [[best, "chosen"], ...recipes.map((recipe) => {
      const there = pointWithin(facts, recipe.peak);
      return [[recipe.name, formatBytes(recipe.peak), recipe.fits ? "yes" : "no", cost(recipe.makespan), there < 0 ? "–" : cost(facts.points.makespan[there]), grouped(recipe.recomputed)], recipe.fits ? "" : "over"];
    })]);
}
