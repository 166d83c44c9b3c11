/* The two plots that plotly draws: the front, and memory over a schedule. */

const MARGIN = { l: 72, r: 14, t: 10, b: 46 };
const COLUMNS = 700;
const MOSTLY = 0.6;
const FEW = 150;
const SHAPES = ["square", "triangle-up", "cross", "x", "triangle-down", "pentagon", "star", "hexagon", "bowtie"];
const CONFIG = {
  displaylogo: false,
  showTips: false,
  responsive: true,
  modeBarButtonsToRemove: ["select2d", "lasso2d", "autoScale2d"],
};
const KIND_COLOURS = {
  outputs: "--outputs", "saved tensors": "--saved", gradients: "--gradients",
  "parameter gradients": "--parameters", inputs: "--inputs", values: "--saved",
};

/** A style's colour, as it is now: light or dark. */
const look = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();

/** Plotly reads some HTML in texts: names are shown as they are. */
const plain = (text) => String(text).replace(/&/g, "&amp;").replace(/</g, "&lt;").replace(/>/g, "&gt;");

const narrow = () => window.innerWidth < 640;

function baseLayout(x, y) {
  const axis = (title) => ({
    title: { text: title, standoff: 8 }, gridcolor: look("--grid"), zeroline: false,
    hoverformat: ".4~g", linecolor: look("--line"), automargin: false, color: look("--quiet"),
  });
  return {
    paper_bgcolor: "rgba(0,0,0,0)", plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: "system-ui, sans-serif", size: 13, color: look("--text") },
    modebar: { bgcolor: "rgba(0,0,0,0)", color: look("--quiet"), activecolor: look("--text") },
    margin: MARGIN, showlegend: false, xaxis: axis(x), yaxis: axis(y),
    hoverlabel: { bgcolor: look("--panel"), bordercolor: look("--line"), font: { color: look("--text") }, align: "left" },
  };
}

/** Units and places of a front's points. */
function scaleOf(facts) {
  const peaks = facts.points.peak.map(Number), makespans = facts.points.makespan.map(Number);
  const base = Number(facts.baseTime), relative = base > 0;
  const right = Math.max(...[...peaks, 1, ...facts.named.map((n) => Number(n.budget || 0)),
    ...facts.baselines.filter((b) => BigInt(b.makespan) <= BigInt(facts.ceiling)).map((b) => Number(b.peak))]);
  const [unit, size] = byteUnit(right);
  const [clock, tick] = timeUnit(Math.max(...makespans), facts.timeUnit);
  const height = (makespan) => (relative ? 100 * (Number(makespan) - base) / base : Number(makespan) / tick);
  return {
    unit, size, right: right / size, height, relative,
    x: peaks.map((peak) => peak / size), y: makespans.map(height), top: height(facts.ceiling),
    label: relative ? "overhead (%)" : `makespan (${clock})`,
  };
}

const pointText = (facts, peak, makespan) => `${formatBytes(peak)}, ${percent(BigInt(makespan) - BigInt(facts.baseTime), BigInt(facts.baseTime))}`;

function drawFront(figure, facts, chosen) {
  const scale = scaleOf(facts);
  const layout = baseLayout(`peak memory (${scale.unit})`, scale.label);
  const texts = facts.points.peak.map((peak, k) => pointText(facts, peak, facts.points.makespan[k]));
  const curve = {
    x: [...scale.x, scale.right * 1.02], y: [...scale.y, scale.y[scale.y.length - 1]],
    text: [...texts, texts[texts.length - 1]],
    line: { shape: "hv", color: look("--curve"), width: 2 }, name: "least overhead",
    mode: scale.x.length <= FEW ? "lines+markers" : "lines", marker: { size: 5 },
    hovertemplate: "%{text}<extra></extra>",
  };
  const markers = facts.baselines.map((recipe, k) => ({
    x: [Number(recipe.peak) / scale.size], y: [scale.height(recipe.makespan)],
    mode: "markers", name: plain(recipe.name), hoverinfo: "text",
    text: [`${plain(recipe.name)}: ${pointText(facts, recipe.peak, recipe.makespan)}`],
    marker: { symbol: SHAPES[k % SHAPES.length], size: 9, color: look("--mark"), line: { width: 1, color: look("--page") } },
  })).filter((trace) => trace.y[0] <= scale.top * 1.001);
  layout.shapes = facts.named.filter((named) => named.budget !== null).map((named) => ({
    type: "line", x0: Number(named.budget) / scale.size, x1: Number(named.budget) / scale.size,
    y0: 0, y1: 1, yref: "paper", line: { color: look("--quiet"), width: 1, dash: "dot" },
  }));
  layout.annotations = facts.named.filter((named) => named.budget !== null).map((named, k) => ({
    x: Number(named.budget) / scale.size, y: 1 - 0.09 * (k % 4), yref: "paper", yanchor: "top", xanchor: "left",
    text: plain(named.label), showarrow: false, font: { size: 12, color: look("--quiet") },
  }));
  const bottom = Math.min(...scale.y);
  const spread = Math.max(scale.top - bottom, 1e-9);
  const foot = scale.relative ? -0.03 * spread : Math.max(0, bottom - 0.1 * spread);
  layout.yaxis.range = [foot, bottom + 1.06 * spread];
  const left = Math.min(scale.x[0], ...facts.named.filter((named) => named.budget !== null).map((named) => Number(named.budget) / scale.size));
  layout.xaxis.range = [Math.max(0, left - 0.06 * (scale.right - left)), scale.right + 0.02 * (scale.right - left)];
  layout.hovermode = "x";
  layout.showlegend = !narrow() && markers.length > 0;
  layout.legend = { orientation: "h", x: 0, y: -0.2, yanchor: "top", bgcolor: "rgba(0,0,0,0)" };
  if (layout.showlegend) layout.margin = { ...MARGIN, b: 92 };
  layout.uirevision = facts.name;
  if (Number(facts.static) > 0) {
    layout.shapes.push({
      type: "rect", layer: "below", x0: 0, x1: Number(facts.static) / scale.size, y0: 0, y1: 1, yref: "paper",
      fillcolor: look("--static"), opacity: 0.5, line: { width: 0 },
    });
    if (Number(facts.static) / scale.size > layout.xaxis.range[0]) {
      layout.annotations.push({
        x: Number(facts.static) / scale.size, y: 0, yref: "paper", xanchor: "right", yanchor: "bottom",
        text: "static", textangle: -90, showarrow: false, font: { size: 12, color: look("--quiet") },
      });
    }
  }
  return Plotly.react(figure, [curve, ...markers, chosenTrace(facts, scale, chosen)], layout, { ...CONFIG, displayModeBar: narrow() ? false : "hover" });
}

/** The chosen point; beyond the axis, at its upper end. */
function chosenTrace(facts, scale, chosen) {
  return {
    x: [scale.x[chosen]], y: [Math.min(scale.y[chosen], scale.top)], mode: "markers", name: "chosen",
    hoverinfo: "skip", showlegend: false, cliponaxis: false,
    marker: { symbol: scale.y[chosen] > scale.top ? "arrow-up" : "circle", size: 14, color: look("--chosen"), line: { width: 2, color: look("--page") } },
  };
}

function moveChosen(figure, facts, chosen) {
  const scale = scaleOf(facts), trace = chosenTrace(facts, scale, chosen);
  return Plotly.restyle(figure, { x: [trace.x], y: [trace.y], "marker.symbol": trace.marker.symbol }, [figure.data.length - 1]);
}

/** Names and colours of what is stacked, from the bottom. */
function bandsOf(tables) {
  return [["static", "--static"], ...tables.kinds.map((kind) => [kind, KIND_COLOURS[kind]]), ["transients", "--transients"]];
}

/** Where the horizontal axis of a schedule has its unit. */
function acrossOf(view, facts) {
  if (view.edges !== view.run.clock) return ["operation", 1];
  const [unit, size] = timeUnit(view.run.clock[view.run.n], facts.timeUnit);
  return [`time (${unit})`, size];
}

function drawMemory(figure, view, facts, budget) {
  const { tables, sequence, run, edges } = view;
  const fixed = Number(facts.static), [from, to] = view.range;
  const [title, tick] = acrossOf(view, facts);
  const shown = columns(run, edges, from, to, COLUMNS);
  const levels = levelsAt(tables, sequence, shown);
  const highest = Math.max(run.peak, budget);
  const [unit, size] = byteUnit(highest);
  const width = (to - from) / COLUMNS;
  const x = Array.from({ length: COLUMNS + 1 }, (_, c) => (from + c * width) / tick);
  const traces = bandsOf(tables).map(([name, colour], band) => {
    const bytes = levels.map((level) => (band === 0 ? fixed : level ? level[band - 1] : 0));
    bytes.push(bytes[bytes.length - 1]);
    return {
      x, y: bytes.map((number) => number / size), name, stackgroup: "memory", mode: "lines",
      line: { shape: "hv", width: 0, color: look(colour) }, fillcolor: look(colour),
      customdata: bytes.map(formatBytes), hovertemplate: "%{customdata}",
      visible: bytes.some((number) => number > 0),
    };
  });
  const layout = baseLayout(title, `memory (${unit})`);
  const bottom = fixed > MOSTLY * highest ? Math.max(0, fixed - (highest - fixed) / 9) : 0;
  layout.yaxis.range = [bottom / size, (highest + 0.08 * (highest - bottom)) / size];
  layout.yaxis.fixedrange = true;
  layout.xaxis.range = [from / tick, to / tick];
  layout.hovermode = "x unified";
  layout.dragmode = narrow() ? false : "zoom";
  const at = run.peakAt < 0 ? edges[0] : (edges[run.peakAt] + edges[run.peakAt + 1]) / 2;
  layout.shapes = [{
    type: "line", x0: 0, x1: 1, xref: "paper", y0: budget / size, y1: budget / size,
    line: { color: look("--chosen"), width: 1.5, dash: "dash" },
  }];
  layout.annotations = at < from || at > to ? [] : [{
    x: at / tick, y: run.peak / size, text: "peak", showarrow: true, arrowhead: 2, ax: at - from > 0.9 * (to - from) ? -26 : 26, ay: 16,
    font: { size: 12, color: look("--text") }, arrowcolor: look("--text"), bgcolor: look("--page"), borderpad: 1, opacity: 0.9,
  }];
  if (bottom > 0) {
    layout.annotations.push({
      x: 0, xref: "paper", y: 0, yref: "paper", xanchor: "left", yanchor: "bottom", showarrow: false,
      text: `axis begins at ${formatBytes(Math.round(bottom))}`, font: { size: 11, color: look("--text") },
    });
  }
  return Plotly.react(figure, traces, layout, { ...CONFIG, displayModeBar: false, doubleClick: false });
}
