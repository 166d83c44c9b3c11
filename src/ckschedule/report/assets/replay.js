/* Schedules, unpacked and replayed: the rules of ckschedule's simulator for schedules
   that it has accepted. The page compares each peak with the one it was given. */

/** The bytes of a base64 text's zlib stream. */
async function unpack(text) {
  const letters = atob(text), packed = new Uint8Array(letters.length);
  for (let i = 0; i < letters.length; i++) packed[i] = letters.charCodeAt(i);
  const stream = new Blob([packed]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}

/** What schedules refer to, and the schedules of the points in the page. */
function readTables(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const head = new TextDecoder().decode(new Uint8Array(buffer, 4, length));
  const tables = JSON.parse(head);
  const width = tables.wide ? 4 : 2;
  let offset = 4 + length;
  tables.sequences = tables.lengths.map((count) => {
    const Kind = tables.wide ? Uint32Array : Uint16Array;
    const sequence = new Kind(buffer, offset, count);
    offset += count * width;
    return sequence;
  });
  for (const key of ["table", "node", "kind", "valueRow", "nodeRow", "backward",
    "outputsStart", "outputs", "consumesStart", "consumes"]) {
    tables[key] = Int32Array.from(tables[key]);
  }
  return tables;
}

/** Replay a schedule. `on` has functions, any of them left out: run(operation, mode or
    -1, bytes before, bytes meanwhile), born(value, operation), died(value, operation). */
function walk(tables, sequence, on) {
  const { table, size, transient, outputsStart, outputs, consumesStart, consumes } = tables;
  const live = new Uint8Array(size.length);
  const run = on.run || (() => {}), born = on.born || (() => {}), died = on.died || (() => {});
  let level = 0;
  for (const v of tables.live) {
    live[v] = 1;
    level += size[v];
    born(v, -1);
  }
  for (let i = 0; i < sequence.length; i++) {
    const code = table[sequence[i]];
    if (code < 0) {
      const v = -1 - code;
      run(i, -1, level, level);
      live[v] = 0;
      level -= size[v];
      died(v, i);
      continue;
    }
    run(i, code, level, level + transient[code]);
    for (let j = consumesStart[code]; j < consumesStart[code + 1]; j++) {
      const v = consumes[j];
      live[v] = 0;
      level -= size[v];
      died(v, i);
    }
    for (let j = outputsStart[code]; j < outputsStart[code + 1]; j++) {
      const v = outputs[j];
      // A second copy of a live output is dropped.
      if (live[v]) continue;
      live[v] = 1;
      level += size[v];
      born(v, i);
    }
  }
}

/** Times, levels, counts and the peak of a schedule. */
function replay(tables, sequence, fixed) {
  const n = sequence.length;
  const clock = new Float64Array(n + 1), level = new Float64Array(n);
  const counts = new Int32Array(tables.nodeRow.length);
  let peak = fixed, peakAt = -1, executions = 0;
  for (const v of tables.live) peak += tables.size[v];
  walk(tables, sequence, {
    run(i, mode, before, meanwhile) {
      level[i] = fixed + meanwhile;
      clock[i + 1] = clock[i] + (mode < 0 ? 0 : tables.time[mode]);
      if (mode >= 0) {
        counts[tables.node[mode]]++;
        executions++;
      }
      if (level[i] > peak) {
        peak = level[i];
        peakAt = i;
      }
    },
  });
  return { n, clock, level, counts, executions, peak, peakAt };
}

/** Where operations begin and end across: in ticks, or by number. */
function edgesOf(run, axis) {
  if (axis === "makespan" && run.clock[run.n] > 0) return run.clock;
  return Float64Array.from({ length: run.n + 1 }, (_, i) => i);
}

/** For each column between `from` and `to`, the operation in it of the most bytes. */
function columns(run, edges, from, to, count) {
  const shown = new Int32Array(count).fill(-1);
  const width = (to - from) / count;
  for (let i = 0; i < run.n; i++) {
    if (edges[i + 1] < from || edges[i] > to) continue;
    const first = Math.max(0, Math.min(count - 1, Math.floor((edges[i] - from) / width)));
    const last = Math.min(count - 1, Math.max(first, Math.ceil((edges[i + 1] - from) / width) - 1));
    for (let c = first; c <= last; c++) {
      if (shown[c] < 0 || run.level[i] > run.level[shown[c]]) shown[c] = i;
    }
  }
  return shown;
}

/** Bytes by kind, transients last, for each of these operations. */
function levelsAt(tables, sequence, operations) {
  const kinds = tables.kinds.length;
  const wanted = [...new Set(operations)].filter((i) => i >= 0).sort((a, b) => a - b);
  const found = new Map(), now = new Float64Array(kinds + 1);
  let next = 0;
  walk(tables, sequence, {
    run(i, mode, before, meanwhile) {
      if (i !== wanted[next]) return;
      now[kinds] = meanwhile - before;
      found.set(i, now.slice());
      next++;
    },
    born(v) { now[tables.kind[v]] += tables.size[v]; },
    died(v) { now[tables.kind[v]] -= tables.size[v]; },
  });
  return operations.length ? Array.from(operations, (i) => found.get(i)) : [];
}

/** The values that live while an operation runs, and the mode that runs, or -1. */
function liveAt(tables, sequence, index) {
  const live = new Set();
  let running = -1;
  const upTo = (i) => i < index;
  walk(tables, index < 0 ? sequence.subarray(0, 0) : sequence.subarray(0, index + 1), {
    run(i, mode) { if (i === index) running = mode; },
    born(v, i) { if (upTo(i) || i < 0) live.add(v); },
    died(v, i) { if (upTo(i)) live.delete(v); },
  });
  return { live, running };
}

/** The document of a point: what `ckschedule.to_json` writes for its result. */
function documentOf(tables, sequence, numbers) {
  const place = new Map();
  const order = Array.from(sequence, (entry) => {
    if (!place.has(entry)) place.set(entry, place.size);
    return place.get(entry);
  });
  const parts = {
    ...tables.common,
    ...numbers,
    operations: `[${[...place.keys()].map((entry) => tables.operations[entry]).join(",")}]`,
    sequence: `[${order.join(",")}]`,
  };
  // One pass: what is filled in is not looked at again.
  return tables.template.replace(/"@([a-z_]+)"/g, (_, key) => parts[key]);
}
