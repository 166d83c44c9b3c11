/* Numbers in words, as ckschedule prints them. Bytes and ticks come as texts. */

const BYTES = ["KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
const TIMES = {
  ns: [["s", 1e9], ["ms", 1e6], ["us", 1e3]],
  flop: [["Pflop", 1e15], ["Tflop", 1e12], ["Gflop", 1e9], ["Mflop", 1e6]],
};

/** Digits with a comma between thousands. */
const grouped = (number) => String(number).replace(/\B(?=([0-9]{3})+$)/g, ",");

const counted = (number, noun) => `${grouped(number)} ${noun}${Number(number) === 1 ? "" : "s"}`;

function formatBytes(size) {
  let value = Number(size), unit = "B";
  for (const larger of BYTES) {
    // 1023.999 KiB would be written as 1024.00 KiB.
    if (Math.round(value * 100) / 100 < 1024) break;
    value /= 1024;
    unit = larger;
  }
  return unit === "B" ? `${size} B` : `${value.toFixed(2)} ${unit}`;
}

function formatTime(ticks, unit) {
  const value = Number(ticks);
  for (const [name, scale] of TIMES[unit] || []) {
    if (value >= scale || Math.round((value * 1000 / scale) * 100) / 100 >= 1000) {
      return `${(value / scale).toFixed(2)} ${name}`;
    }
  }
  return `${ticks} ${unit}`;
}

/** The largest unit of which the largest number has at least one, and its size. */
function byteUnit(largest) {
  let size = 1, unit = "B";
  for (const larger of BYTES) {
    if (largest < 1024 * size) break;
    size *= 1024;
    unit = larger;
  }
  return [unit, size];
}

function timeUnit(largest, unit) {
  return (TIMES[unit] || []).find(([, size]) => largest >= size) || [unit, 1];
}

/** Overhead in percent, with its sign; a dash for a model that takes no time. */
function percent(overhead, base) {
  if (base === 0n) return "–";
  const share = 100 * Number(overhead) / Number(base);
  return `${share < 0 ? "-" : "+"}${Math.abs(share).toFixed(2)} %`;
}

/** How far a makespan may lie above the optimum: rounded up, for "at most" has to hold. */
function gapPercent(makespan, bound) {
  const excess = (makespan - bound) * 100000n;
  const above = excess / bound + (excess % bound ? 1n : 0n);
  return `${above / 1000n}.${String(above % 1000n).padStart(3, "0")}%`;
}

/** Which rows an index range is: "stage 4 (conv)", "stages 4 to 9 (conv to relu)". */
function rowNames(tables, first, last) {
  const noun = tables.chain ? "stage" : "node", { rows } = tables;
  if (first < 0) return "the input";
  // A stage without a name of its own is called by its number.
  const named = (row) => rows[row] !== `${noun} ${row + 1}`;
  if (first === last) return `${noun} ${first + 1}${named(first) ? ` (${rows[first]})` : ""}`;
  const names = named(first) || named(last) ? ` (${rows[first]} to ${rows[last]})` : "";
  return `${noun}s ${first + 1} to ${last + 1}${names}`;
}
