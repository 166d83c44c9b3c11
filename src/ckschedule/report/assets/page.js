/* The page: which front and which point are chosen, and what follows from that. */

(async () => {
  const $ = (id) => document.getElementById(id);
  const subjects = JSON.parse($("facts").textContent);
  const ready = new Map();
  let facts, tables, chosen = 0, budget = "0", axis = "makespan", view = null, pending = 0;
  // Tables and the schedule are there before plotly, which takes its time to start.
  let plots = false, marked = -1;

  const complain = (text) => {
    $("trouble").textContent = text;
    $("trouble").hidden = false;
  };

  /** The chosen point's place among those whose schedules are in the page. */
  const place = () => facts.shown.indexOf(chosen);

  function lede() {
    const size = facts.stages === null ? counted(facts.nodes, "node") : `${counted(facts.stages, "stage")}, the loss included`;
    const points = facts.points.peak.length;
    const kind = facts.exact ? `The curve is the optimum at every budget, with ${counted(points, "breakpoint")},`
      : `The curve has ${counted(points, "point")}, each with a bound on how far it may lie above the optimum,`;
    const fixed = Number(facts.static) ? `, and ${formatBytes(facts.static)} of every budget are static` : "";
    const part = facts.shown.length < facts.points.peak.length ? ` The schedules of ${grouped(facts.shown.length)} points are in this page.` : "";
    return `${size}; computing everything once takes ${formatTime(facts.baseTime, facts.timeUnit)}${fixed}. ${kind} among ${facts.scope}.${part}`;
  }

  function verdict() {
    const makespan = BigInt(facts.points.makespan[chosen]), bound = BigInt(facts.points.bound[chosen]);
    const within = `within ${formatBytes(facts.points.peak[chosen])}`, among = `among ${facts.scope}`;
    if (makespan === bound) return `optimal ${within} ${among}`;
    if (bound === 0n) return `feasible ${within}, with no bound to compare it with`;
    return `feasible ${within}, at most ${gapPercent(makespan, bound)} above the optimum ${among}`;
  }

  function figures() {
    const { peak, makespan, bound } = facts.points;
    const base = BigInt(facts.baseTime), ticks = BigInt(makespan[chosen]);
    const entries = [
      ["peak memory", formatBytes(peak[chosen]), `${grouped(peak[chosen])} bytes`],
      ["above static", formatBytes(String(BigInt(peak[chosen]) - BigInt(facts.static))), `${formatBytes(facts.static)} static`],
      ["time of a step", formatTime(makespan[chosen], facts.timeUnit), `${grouped(makespan[chosen])} ${facts.timeUnit === "ns" ? "ns" : `${facts.timeUnit}s`}`],
      ["overhead", percent(ticks - base, base), `${formatTime(String(ticks - base), facts.timeUnit)} beyond computing once`],
      ["recomputed", grouped(recomputed()), `${grouped(view.run.n)} operations`],
      ["lower bound", formatTime(bound[chosen], facts.timeUnit), ticks === BigInt(bound[chosen]) ? "reached: nothing is faster at this peak" : "no schedule at this peak is faster"],
    ];
    $("figures").replaceChildren(...entries.map(([term, text, more]) => element("div", {}, element("dt", {}, term), element("dd", {}, text, element("small", {}, more)))));
  }

  const recomputed = () => view.run.counts.reduce((sum, count) => sum + Math.max(0, count - 1), 0);

  /** Choose a point; `limit` is the budget that was asked for, if not its own peak. */
  function choose(point, limit) {
    chosen = point;
    budget = limit || facts.points.peak[point];
    $("budget").value = place();
    const cost = pointText(facts, facts.points.peak[chosen], facts.points.makespan[chosen]);
    $("answer").textContent = cost.replace(", ", " · ");
    $("budget").setAttribute("aria-valuetext", cost.replace(", ", ", overhead "));
    for (const button of $("named").children) {
      const pressed = button.dataset.point === String(chosen) && (button.dataset.budget || facts.points.peak[chosen]) === budget;
      button.setAttribute("aria-pressed", String(pressed));
      // On a phone the buttons are a row that scrolls sideways.
      if (pressed) $("named").scrollLeft = button.offsetLeft - $("named").offsetLeft - ($("named").clientWidth - button.offsetWidth) / 2;
    }
    cancelAnimationFrame(pending);
    pending = requestAnimationFrame(show);
  }

  /** Replay the chosen point and draw all that is about it. */
  async function show() {
    const sequence = tables.sequences[place()];
    const run = replay(tables, sequence, Number(facts.static));
    if (run.peak !== Number(facts.points.peak[chosen]) || run.executions !== Number(facts.points.executions[chosen])) {
      complain(`The replay of this schedule has a peak of ${run.peak} bytes where ${facts.points.peak[chosen]} are recorded: this is a fault of ckschedule, report it.`);
    }
    const edges = edgesOf(run, axis);
    view = { tables, sequence, run, edges, range: [0, Math.max(edges[run.n], 1e-9)] };
    if (plots && marked !== chosen) moveChosen($("front"), facts, chosen);
    if (plots) marked = chosen;
    $("verdict").textContent = `${verdict().replace(/^./, (letter) => letter.toUpperCase())}.`;
    figures();
    fillAgain($("again"), $("again-sum"), view);
    const drawn = drawView();
    fillLive($("live"), $("live-when"), view, facts);
    fillBaselines($("baselines"), facts, chosen, budget, recomputed());
    $("compared").hidden = facts.baselines.length === 0;
    $("copied").textContent = "";
    await drawn;
    if (plots) document.documentElement.dataset.shown = String(chosen);
  }

  function drawView() {
    const drawn = plots ? drawMemory($("memory"), view, facts, Number(budget)) : null;
    drawSchedule($("schedule"), tables, view.sequence, view.edges, view.range, MARGIN, look);
    $("schedule").setAttribute("aria-label", `Schedule of ${counted(view.run.n, "operation")} over ${counted(tables.rows.length, tables.chain ? "stage" : "node")}: ${$("again-sum").textContent || "see the tables below"}`);
    $("pointed").textContent = "";
    return drawn;
  }

  /** Look at a part of the schedule, or at all of it. */
  function zoom(from, to) {
    const end = Math.max(view.edges[view.run.n], 1e-9);
    view.range = from === undefined || to <= from ? [0, end] : [Math.max(0, from), Math.min(end, to)];
    drawView();
  }

  function legend() {
    const held = tables.chain ? [["output held", "--held"], ["saved tensors held", "--held-saved"]] : [["value held", "--held"]];
    const ops = tables.chain ? [["forward", "--forward"], ["recompute", "--recompute"], ["backward", "--backward"]] : [["compute", "--forward"], ["recompute", "--recompute"]];
    const entry = ([text, colour]) => {
      const key = element("i", {});
      key.style.background = `var(${colour})`;
      return element("span", {}, key, text);
    };
    const present = new Set(tables.kind);
    const kinds = bandsOf(tables).filter(([name]) => name === "transients" || (name === "static" ? Number(facts.static) > 0 : present.has(tables.kinds.indexOf(name))));
    $("legend").replaceChildren(...[...ops, ...held].map(entry));
    $("memory-legend").replaceChildren(...kinds.map(entry));
  }

  /** Say what stands under the pointer. */
  function point(event) {
    const box = $("schedule").getBoundingClientRect();
    const wide = box.width - MARGIN.l - MARGIN.r;
    const share = (event.clientX - box.left - MARGIN.l) / wide;
    if (share < 0 || share > 1) return;
    const at = view.range[0] + share * (view.range[1] - view.range[0]);
    let low = 0, high = view.run.n - 1;
    while (low < high) {
      const middle = (low + high + 1) >> 1;
      if (view.edges[middle] <= at) low = middle; else high = middle - 1;
    }
    const when = view.edges === view.run.clock ? ` at ${formatTime(Math.round(view.run.clock[low]), facts.timeUnit)}` : "";
    $("pointed").textContent = `Operation ${grouped(low + 1)}${when}: ${operationWords(view, low)}; ${formatBytes(view.run.level[low])} live.`;
  }

  const text = () => documentOf(tables, view.sequence, {
    status: facts.points.makespan[chosen] === facts.points.bound[chosen] ? '"optimal"' : '"feasible"',
    budget: facts.points.peak[chosen], lower_bound: facts.points.bound[chosen],
    peak: facts.points.peak[chosen], makespan: facts.points.makespan[chosen],
    executions: facts.points.executions[chosen],
  });

  function download() {
    const link = element("a", { download: "plan.json", href: URL.createObjectURL(new Blob([text()], { type: "application/json" })) });
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }

  async function copy() {
    try {
      await navigator.clipboard.writeText(text());
      $("copied").textContent = "Copied.";
    } catch (error) {
      $("copied").textContent = "The browser does not let this page copy: download the file instead.";
    }
  }

  /** Go to the next point, or to one that is farther; also to the ends. */
  function step(event) {
    if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey) return;
    if (!(event.target === document.body || $("front").contains(event.target))) return;
    const last = facts.shown.length - 1;
    const to = {
      ArrowLeft: place() - 1, ArrowRight: place() + 1, Home: 0, End: last,
    }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    choose(facts.shown[Math.max(0, Math.min(last, to))]);
  }

  /** The point nearest to one that has its schedule in the page. */
  const nearest = (point) => facts.shown.reduce((best, k) => (Math.abs(k - point) < Math.abs(best - point) ? k : best));

  async function open(index) {
    facts = subjects[index];
    $("trouble").hidden = true;
    $("name").textContent = facts.name;
    $("lede").textContent = lede();
    if (!ready.has(index)) ready.set(index, readTables(await unpack($(`packed-${index}`).textContent)));
    tables = ready.get(index);
    $("budget").max = facts.shown.length - 1;
    $("named").replaceChildren(...facts.named.map((named) => {
      const words = named.budget === null ? named.label : `within ${named.label}`;
      const button = element("button", { type: "button", "data-point": named.point ?? "", "data-budget": named.budget ?? "" }, named.point !== null ? words : `${words}: ${named.refuted ? "nothing fits" : "no schedule found"}`);
      button.disabled = named.point === null;
      button.addEventListener("click", () => choose(named.point, named.budget));
      return button;
    }));
    legend();
    const first = facts.named.find((named) => named.budget !== null && named.point !== null)
      || facts.named.find((named) => named.label === "knee") || facts.named[0];
    chosen = first.point;
    if (plots) await drawCurve();
    choose(first.point, first.budget);
    cancelAnimationFrame(pending);
    await show();
  }

  function drawCurve() {
    marked = chosen;
    return drawFront($("front"), facts, chosen);
  }

  /** Run plotly. */
  function start(buffer) {
    const script = document.createElement("script");
    script.textContent = new TextDecoder().decode(buffer);
    document.head.append(script);
  }

  /** Resolves when the browser has drawn what is there. */
  const painted = () => new Promise((done) => requestAnimationFrame(() => setTimeout(done)));

  function redraw() {
    if (!plots) return;
    drawCurve();
    drawView();
  }

  if (typeof DecompressionStream === "undefined") {
    complain("This browser is too old for this page: it needs one of 2023 or later.");
    return;
  }
  const library = unpack($("plotly").textContent);
  subjects.forEach((subject, k) => $("model").append(element("option", { value: k }, subject.name)));
  $("choice").hidden = subjects.length < 2;
  $("model").addEventListener("change", () => open(Number($("model").value)));
  $("budget").addEventListener("input", () => choose(facts.shown[Number($("budget").value)]));
  $("chooser").addEventListener("submit", (event) => event.preventDefault());
  document.addEventListener("keydown", step);
  for (const radio of document.querySelectorAll('input[name="axis"]')) {
    radio.addEventListener("change", () => {
      axis = radio.value;
      show();
    });
  }
  $("download").addEventListener("click", download);
  $("copy").addEventListener("click", copy);
  $("schedule").addEventListener("pointermove", point);
  await open(0);
  performance.mark("ckschedule: schedule shown");
  await painted();
  start(await library);
  plots = true;
  await drawCurve();
  await show();
  performance.mark("ckschedule: plots shown");
  $("front").on("plotly_click", (event) => {
    const [hit] = event.points.filter((one) => one.curveNumber === 0);
    if (hit) choose(nearest(Math.min(hit.pointIndex, facts.points.peak.length - 1)));
  });
  $("memory").on("plotly_relayout", (change) => {
    const [, tick] = acrossOf(view, facts);
    if (change["xaxis.range[0]"] !== undefined) zoom(change["xaxis.range[0]"] * tick, change["xaxis.range[1]"] * tick);
  });
  $("memory").on("plotly_doubleclick", () => { zoom(); });
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = window.innerWidth;
  window.addEventListener("resize", () => {
    if (window.innerWidth === width) return;
    width = window.innerWidth;
    redraw();
  });
})();
