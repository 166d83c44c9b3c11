/* The schedule as a picture: stages down, time across, each dot what is there. */

const RANKS = ["", "--held", "--held-saved", "--forward", "--recompute", "--backward"];
const RANK = { held: 1, saved: 2, forward: 3, recompute: 4, backward: 5 };

/** Ranks of the dots, (high x wide): the topmost of what lies or runs there. */
function rasterise(tables, sequence, edges, from, to, wide, high) {
  const grid = new Uint8Array(wide * high), rows = tables.rows.length;
  const scale = wide / (to - from), tall = high / rows;
  const thin = tall >= 6;
  const paint = (row, begin, end, rank) => {
    if (end < from || begin > to) return;
    const inset = thin ? Math.round(tall * (rank > RANK.saved ? 0.06 : 0.27)) : 0;
    const top = Math.floor(row * tall) + inset;
    const bottom = Math.max(top + 1, Math.floor((row + 1) * tall) - inset);
    const left = Math.max(0, Math.min(wide - 1, Math.floor((begin - from) * scale)));
    const right = Math.min(wide, Math.max(left + 1, Math.ceil((end - from) * scale)));
    for (let y = top; y < bottom; y++) {
      for (let x = y * wide + left; x < y * wide + right; x++) {
        if (grid[x] < rank) grid[x] = rank;
      }
    }
  };
  const since = new Int32Array(tables.size.length).fill(-2);
  const held = (v, until) => {
    const row = tables.valueRow[v], kind = tables.kind[v];
    if (row < 0 || (tables.chain && kind > 1)) return;
    const rank = tables.chain && kind === 1 ? RANK.saved : RANK.held;
    // From the end of the computation to the start of what releases it.
    paint(row, edges[since[v] + 1], edges[until], rank);
  };
  const ran = new Uint8Array(tables.nodeRow.length);
  walk(tables, sequence, {
    run(i, mode) {
      if (mode < 0) return;
      const node = tables.node[mode];
      const rank = tables.backward[node] ? RANK.backward : ran[node] ? RANK.recompute : RANK.forward;
      ran[node] = 1;
      paint(tables.nodeRow[node], edges[i], edges[i + 1], rank);
    },
    born(v, i) { since[v] = i; },
    died(v, i) {
      held(v, i);
      since[v] = -2;
    },
  });
  since.forEach((i, v) => { if (i > -2) held(v, sequence.length); });
  return grid;
}

/** Draw a picture of ranks on a canvas, with names or numbers of rows beside it. */
function drawSchedule(canvas, tables, sequence, edges, range, margin, look) {
  const ratio = Math.min(2, window.devicePixelRatio || 1);
  const rows = tables.rows.length;
  const width = canvas.clientWidth, height = Math.max(90, Math.min(440, 20 * rows));
  canvas.style.height = `${height}px`;
  canvas.width = Math.round(width * ratio);
  canvas.height = Math.round(height * ratio);
  const wide = Math.max(1, Math.round((width - margin.l - margin.r) * ratio));
  const grid = rasterise(tables, sequence, edges, range[0], range[1], wide, canvas.height);
  const context = canvas.getContext("2d");
  const image = context.createImageData(wide, canvas.height);
  const dots = new Uint32Array(image.data.buffer);
  const colours = RANKS.map((name) => (name ? packedColour(look(name)) : 0));
  for (let x = 0; x < dots.length; x++) dots[x] = colours[grid[x]];
  context.clearRect(0, 0, canvas.width, canvas.height);
  context.putImageData(image, Math.round(margin.l * ratio), 0);
  context.scale(ratio, ratio);
  context.strokeStyle = look("--line");
  context.strokeRect(margin.l - 0.5, 0.5, width - margin.l - margin.r + 1, height - 1);
  context.fillStyle = look("--quiet");
  context.textAlign = "right";
  context.textBaseline = "middle";
  context.font = "12px system-ui, sans-serif";
  for (const [row, text] of rowLabels(tables, height)) {
    const y = (row + 0.5) * height / rows;
    context.fillText(text, margin.l - 6, Math.max(7, Math.min(height - 7, y)), margin.l - 8);
  }
}

/** Labels of rows that have room: numbers where names would not be read. */
function rowLabels(tables, height) {
  const rows = tables.rows.length;
  const short = (text) => (text.length > 10 ? `${text.slice(0, 9)}…` : text);
  if (14 * rows <= height) return tables.rows.map((name, row) => [row, short(name)]);
  const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 50000];
  const step = steps.find((s) => 28 * rows / s <= height) || 100000;
  const labels = [[0, "1"]];
  for (let row = step; row <= rows - step / 2; row += step) labels.push([row - 1, grouped(row)]);
  labels.push([rows - 1, grouped(rows)]);
  return labels.filter(([row], k) => k === 0 || row > 0);
}

/** A colour as the canvas keeps it: red in the lowest byte. */
function packedColour(text) {
  const value = parseInt(text.trim().slice(1), 16);
  return (0xff000000 | ((value & 0xff) << 16) | (value & 0xff00) | (value >> 16)) >>> 0;
}
