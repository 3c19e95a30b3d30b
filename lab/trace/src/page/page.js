// What each plot of time lets one ask. Its paths are in the units of its axes: only their transformation changes, and
// the values are read from them.
const panels = [...document.querySelectorAll("svg.plot")].map((svg) => {
  const range = (name) => svg.dataset[name].split(" ").map(Number);
  const plot = svg.closest("figure"), log = svg.dataset.log === "y";
  const all = { x: range("x"), y: range("y") };
  const lines = [...svg.querySelectorAll(".data path")].map((path) => {
    let points = null;
    const text = path.getAttribute("d"), steps = path.classList.contains("line");
    // Parsed when they are asked for: x, low and high of each mark or step.
    const read = () => {
      if (points) return points;
      const numbers = text.match(/-?[\d.]+/g).map(Number), size = steps ? 2 : 3;
      points = [];
      for (let n = 0; n < numbers.length; n += size) points.push([numbers[n], numbers[n + 1], steps ? numbers[n + 1] : numbers[n + 1] + numbers[n + 2]]);
      if (!steps) points.sort((a, b) => a[0] - b[0]);
      return points;
    };
    const key = plot.querySelector(`.key[data-line="${path.dataset.line}"]`);
    return { path, steps, read, key, name: key.textContent.trim(), hidden: false };
  });
  const panel = {
    svg, plot, log, all, lines, view: { x: [...all.x], y: [...all.y] }, group: svg.dataset.group,
    data: svg.querySelector(".data"), axes: svg.querySelector(".axes"), clip: svg.querySelector(".clip"),
    area: svg.querySelector(".area"), label: svg.querySelector("text.label"), box: note(plot), at: null,
  };
  panel.lens = make("g", { class: "lens" }, svg);
  panel.reset = document.createElement("button");
  panel.reset.textContent = "show all";
  panel.reset.hidden = true;
  panel.reset.addEventListener("click", () => { showAll(panel); svg.focus(); });
  plot.append(panel.reset);
  untitle(svg);
  for (const line of lines) switches(line.key, line.name, () => {
    line.hidden = !line.hidden;
    line.key.setAttribute("aria-checked", String(!line.hidden));
    for (const element of [line.key, line.path]) element.classList.toggle("off", line.hidden);
    leave(panel);
  });
  return panel;
});
const linked = (panel) => panel.group ? panels.filter((other) => other.group === panel.group) : [panel];
const short = (value, step) => {
  const size = Math.abs(value), [divisor, suffix] = size >= 1e6 ? [1e6, "M"] : size >= 1e4 ? [1e3, "k"] : [1, ""];
  return (value / divisor).toFixed(Math.min(9, Math.max(0, Math.ceil(-Math.log10(step / divisor) - 1e-9)))) + suffix;
};
const ticks = (low, high, many, log) => {
  const found = [];
  if (log && high - low > 0.7) {
    const few = high - low < 3, each = 1 + Math.floor((high - low) / 8);
    for (let ten = Math.floor(low); ten <= high; ten += each)
      for (const n of few ? [1, 2, 5] : [1]) found.push([ten + Math.log10(n), short(n * 10 ** ten, n * 10 ** ten)]);
    return found.filter(([at]) => at >= low && at <= high);
  }
  const value = (v) => log ? 10 ** v : v, place = (v) => log ? Math.log10(v) : v;
  const [a, b] = [value(low), value(high)], rough = (b - a) / many, unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((s) => s >= rough) || rough;
  for (let n = Math.ceil(a / step); n * step <= b; n++) found.push([place(n * step || 0), short(n * step || 0, step)]);
  return found;
};
// Draws a panel for the room that it has: letters have the size of the page's on any display.
const draw = (panel) => {
  const width = panel.plot.clientWidth || 960, height = width < 560 ? 270 : 380;
  const [left, top, right, bottom] = [56, 8, 12, 40];
  const [w, h] = [width - left - right, height - top - bottom], { x, y } = panel.view;
  Object.assign(panel, { left, top, w, h });
  panel.svg.setAttribute("viewBox", `0 0 ${width} ${height}`);
  for (const element of [panel.area, panel.clip])
    for (const [name, value] of Object.entries({ x: left, y: top, width: w, height: h })) element.setAttribute(name, value);
  panel.label.setAttribute("x", left + w);
  panel.label.setAttribute("y", height - 6);
  const [sx, sy] = [w / (x[1] - x[0]), h / (y[1] - y[0])];
  panel.px = (v) => left + (v - x[0]) * sx;
  panel.py = (v) => top + (y[1] - v) * sy;
  panel.data.setAttribute("transform", `matrix(${sx} 0 0 ${-sy} ${-x[0] * sx} ${y[1] * sy})`);
  let text = "";
  for (const [v, label] of ticks(...x, w / 75)) text += `<path d="M${panel.px(v)} ${top}v${h}"/><text x="${panel.px(v)}" y="${top + h + 17}" text-anchor="middle">${label}</text>`;
  for (const [v, label] of ticks(...y, h / 44, panel.log)) text += `<path d="M${left} ${panel.py(v)}h${w}"/><text x="${left - 7}" y="${panel.py(v) + 4}" text-anchor="end">${label}</text>`;
  panel.axes.innerHTML = text;
  const whole = ["x", "y"].every((axis) => panel.view[axis].every((v, n) => v === panel.all[axis][n]));
  panel.reset.hidden = whole;
  panel.svg.classList.toggle("zoomed", !whole);
};
const leave = (panel) => {
  for (const other of linked(panel)) { other.at = null; other.box.hide(); other.lens.replaceChildren(); }
};
// A part of a range, within all of it.
const within = ([low, high], [least, most]) => {
  const span = Math.min(high - low, most - least), from = Math.min(Math.max(low, least), most - span);
  return [from, from + span];
};
const span = (panels, axis) => panels.reduce(([a, b], p) => [Math.min(a, p.all[axis][0]), Math.max(b, p.all[axis][1])], [Infinity, -Infinity]);
const setX = (panel, range) => {
  const all = linked(panel), whole = span(all, "x"), x = within(range, whole);
  // Showing all, each panel shows all of its own.
  for (const other of all) { other.view.x = x[0] <= whole[0] && x[1] >= whole[1] ? [...other.all.x] : x; draw(other); }
};
const showAll = (panel) => {
  leave(panel);
  for (const other of linked(panel)) { other.view = { x: [...other.all.x], y: [...other.all.y] }; draw(other); }
};
const zoom = (panel, axis, factor, at) => {
  const [low, high] = panel.view[axis], least = (panel.all[axis][1] - panel.all[axis][0]) * 1e-6;
  const wide = Math.max((high - low) * factor, least), part = (at - low) / (high - low);
  const range = [at - part * wide, at + (1 - part) * wide];
  leave(panel);
  if (axis === "x") return setX(panel, range);
  panel.view.y = within(range, panel.all.y);
  draw(panel);
};
// Where the pointer is, in the units of the axes.
const place = (panel, event) => {
  const box = panel.svg.getBoundingClientRect(), { x, y } = panel.view;
  const [px, py] = [event.clientX - box.left, event.clientY - box.top];
  return { px, py, x: x[0] + (px - panel.left) / panel.w * (x[1] - x[0]), y: y[1] - (py - panel.top) / panel.h * (y[1] - y[0]) };
};
const unlog = (panel, v) => !panel.log ? v : v < panel.all.y[0] - 0.5 ? 0 : Number((10 ** v).toPrecision(6));
// What a line has at a place: the last step before it, or all marks that are near, those first that are nearest.
const near = (panel, line, x, y) => {
  const points = line.read();
  let low = 0, high = points.length;
  while (low < high) { const middle = (low + high) >> 1; if (points[middle][0] <= x) low = middle + 1; else high = middle; }
  if (line.steps) return points[low - 1] ? [points[low - 1]] : [];
  const found = [];
  for (const step of [-1, 1]) for (let n = step < 0 ? low - 1 : low; n >= 0 && n < points.length; n += step) {
    const [at, from, to] = points[n], dx = Math.abs(panel.px(at) - panel.px(x));
    if (dx > 7) break;
    found.push([dx + (y === null ? 0 : Math.abs(panel.py((from + to) / 2) - panel.py(y)) / 50), points[n]]);
  }
  return found.sort((a, b) => a[0] - b[0]).map(([, point]) => point);
};
const ask = (panel, x, y) => {
  for (const other of linked(panel)) {
    other.lens.replaceChildren();
    if (x < other.view.x[0] || x > other.view.x[1]) continue;
    other.at = x;
    make("path", { d: `M${other.px(x)} ${other.top}v${other.h}` }, other.lens);
    const rows = [];
    for (const line of other.lines) {
      const points = line.hidden ? [] : near(other, line, x, other === panel ? y : null);
      if (!points.length) continue;
      const colour = getComputedStyle(line.path).stroke, value = (point) => unlog(other, point[1]);
      // Numbers of chunks in their order; a few stand for many.
      const shown = points.slice(0, MOST).sort((a, b) => a[0] - b[0] || a[1] - b[1]);
      for (const point of shown) make("circle", { cx: line.steps ? other.px(x) : other.px(point[0]), cy: other.py((point[1] + point[2]) / 2), r: 5, stroke: colour }, other.lens);
      const when = line.steps || !other.group || points.length > 1 ? "" : ` at ${points[0][0].toFixed(4)} s`;
      const more = points.length > MOST ? `, and ${points.length - MOST} more` : "";
      rows.push([colour, line.name, points.length > 1 ? shown.map((p) => figure(value(p))).join(", ") + more : unit(value(points[0]), other.svg.dataset.yu) + when]);
    }
    if (other !== panel) { other.box.hide(); continue; }
    const box = other.svg.getBoundingClientRect(), name = other.svg.dataset.xu;
    const head = name === "s" ? `${x.toFixed(4)} s` : unit(x, name);
    other.box.show(head, rows, [box.left + other.px(x), box.top + (y === null ? other.top + 40 : other.py(y))]);
  }
};
for (const panel of panels) {
  const { svg } = panel, held = new Map();
  draw(panel);
  svg.addEventListener("wheel", (event) => {
    // Without Ctrl the page scrolls. Two fingers on a touchpad come as Ctrl and wheel.
    if (!event.ctrlKey) return;
    event.preventDefault();
    const at = place(panel, event), axis = event.shiftKey ? "y" : "x";
    zoom(panel, axis, Math.exp((event.deltaY || event.deltaX) * 0.002), at[axis]);
  }, { passive: false });
  svg.addEventListener("pointerdown", (event) => {
    held.set(event.pointerId, place(panel, event));
    const at = place(panel, event);
    ask(panel, at.x, at.y);
  });
  const drop = (event) => held.delete(event.pointerId);
  for (const name of ["pointerup", "pointercancel"]) svg.addEventListener(name, drop);
  svg.addEventListener("pointermove", (event) => {
    const now = place(panel, event), before = held.get(event.pointerId);
    const inside = now.px >= panel.left - 4 && now.px <= panel.left + panel.w + 4;
    if (held.size === 2 && before) {
      const other = [...held].find(([id]) => id !== event.pointerId)[1];
      const was = Math.abs(before.px - other.px), is = Math.abs(now.px - other.px);
      held.set(event.pointerId, now);
      if (was > 8 && is > 8) zoom(panel, "x", was / is, (now.x + other.x) / 2);
      return;
    }
    if (before && svg.classList.contains("zoomed") && event.pointerType === "mouse") {
      svg.setPointerCapture(event.pointerId);
      leave(panel);
      const { x, y } = panel.view, [dx, dy] = [before.x - now.x, before.y - now.y];
      panel.view.y = within([y[0] + dy, y[1] + dy], panel.all.y);
      setX(panel, [x[0] + dx, x[1] + dx]);
      held.set(event.pointerId, place(panel, event));
      return;
    }
    if (inside) ask(panel, Math.min(Math.max(now.x, panel.view.x[0]), panel.view.x[1]), now.y);
    else leave(panel);
  });
  svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse" && !held.size) leave(panel); });
  svg.addEventListener("dblclick", () => showAll(panel));
  svg.addEventListener("blur", () => leave(panel));
  svg.addEventListener("keydown", (event) => {
    if (event.target !== svg) return;
    const [low, high] = panel.view.x, step = (high - low) / 100, at = panel.at ?? (low + high) / 2;
    const [a, b] = panel.view.y;
    const does = {
      ArrowLeft: () => event.shiftKey ? setX(panel, [low - 10 * step, high - 10 * step]) : ask(panel, Math.max(low, at - step), null),
      ArrowRight: () => event.shiftKey ? setX(panel, [low + 10 * step, high + 10 * step]) : ask(panel, Math.min(high, at + step), null),
      "+": () => zoom(panel, "x", 0.5, at),
      "-": () => zoom(panel, "x", 2, at),
      "_": () => zoom(panel, "y", 2, (a + b) / 2),
      "*": () => zoom(panel, "y", 0.5, (a + b) / 2),
      "0": () => showAll(panel),
      Escape: () => leave(panel),
    }[event.key];
    if (!does || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    does();
  });
}
// What is folded has no width until it is opened.
addEventListener("resize", () => panels.forEach((panel) => { leave(panel); draw(panel); }));
for (const details of document.querySelectorAll("details")) details.addEventListener("toggle", () => panels.forEach(draw));
