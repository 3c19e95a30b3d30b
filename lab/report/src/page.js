"use strict";
// Without this script a page shows the same plots; with it they answer. Each plot is drawn by the page itself; its
// values stand beside it as JSON: [name, [[x, y, low, high, at least], ...], "steps" or "marks"]
// for each line.
const SVG = "http://www.w3.org/2000/svg";
const make = (name, attributes, parent) => {
  const element = document.createElementNS(SVG, name);
  for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
  parent?.append(element);
  return element;
};
// A number as a reader wants it: whole ones whole, others with three or four significant digits.
const figure = (value) => {
  const size = Math.abs(value);
  if (Number.isInteger(value)) return String(value);
  const text = size >= 1000 ? value.toFixed(0) : size >= 100 ? value.toFixed(1) : size >= 1 ? value.toFixed(2) : value.toPrecision(3);
  return text.includes(".") && !text.includes("e") ? text.replace(/\.?0+$/, "") : text;
};
// How many values stand in one row at most.
const MOST = 8;
const unit = (value, name) => figure(value) + (name && name !== "TSN" ? " " + name : "");
// The box with values, one for each plot. What a screen reader says is the same text.
const note = (plot) => {
  const box = document.createElement("div");
  box.className = "note";
  box.setAttribute("role", "status");
  plot.append(box);
  return {
    // `rows` are [colour, name, value]; `at` is where the pointer is, in the window.
    show(head, rows, at) {
      box.replaceChildren();
      const title = document.createElement("strong");
      title.textContent = head;
      box.append(title);
      for (const [colour, name, value] of rows) {
        const row = document.createElement("div"), mark = document.createElement("i"), number = document.createElement("b");
        mark.style.background = colour;
        number.textContent = value;
        row.append(mark, name + ": ", number);
        box.append(row);
      }
      box.style.display = "block";
      const around = plot.getBoundingClientRect(), x = at[0] - around.left, half = x > around.width / 2;
      const room = around.width - box.offsetWidth;
      box.style.left = Math.max(0, Math.min(half ? x - box.offsetWidth - 14 : x + 14, room)) + "px";
      box.style.top = Math.max(0, at[1] - around.top - box.offsetHeight - 14) + "px";
    },
    hide() { box.style.display = ""; },
  };
};
// Makes something a switch that pointer and keyboard turn.
const switches = (element, name, turn) => {
  element.setAttribute("role", "switch");
  element.setAttribute("tabindex", "0");
  element.setAttribute("aria-label", name);
  element.setAttribute("aria-checked", "true");
  element.addEventListener("click", turn);
  element.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    turn();
  });
};
// A title is shown by browsers, too, over what we show.
const untitle = (svg) => {
  svg.querySelector("title")?.remove();
  svg.setAttribute("role", "group");
  svg.setAttribute("tabindex", "0");
};

for (const plot of document.querySelectorAll("figure.plot")) {
  const source = plot.querySelector("script[type='application/json']");
  if (!source) continue;
  const data = JSON.parse(source.textContent), box = note(plot), hidden = new Set();
  const drawings = [...plot.querySelectorAll("svg.chart")], [named, published] = data.published ?? ["", []];
  // Every place on the x axis that has a value that is shown.
  const places = () => {
    const all = data.lines.flatMap(([, points], n) => hidden.has(n) ? [] : points.map((p) => p[0]));
    if (!hidden.has(-1)) all.push(...published.filter((p) => p.length > 2).map((p) => p[2]));
    return [...new Set(all)].sort((a, b) => a - b);
  };
  const charts = drawings.map((svg) => {
    const numbers = (name) => svg.dataset[name].split(" ").map(Number);
    const [left, top, width, height] = numbers("area"), [x0, x1] = numbers("x"), [y0, y1] = numbers("y");
    const lens = make("g", { class: "lens" }, svg);
    const colours = data.lines.map((_, n) => {
      const drawn = svg.querySelector(`.series[data-line="${n}"] :is([stroke],[fill]:not([fill="none"],[fill="#FFFFFF"]))`);
      const style = drawn && getComputedStyle(drawn);
      return !style ? "currentColor" : style.fill !== "none" && style.stroke === "none" ? style.fill : style.stroke;
    });
    untitle(svg);
    const px = (x) => left + (x - x0) / (x1 - x0) * width;
    const share = svg.dataset.log ? (y) => Math.log(Math.max(y, y0) / y0) / Math.log(y1 / y0) : (y) => (y - y0) / (y1 - y0);
    const py = (y) => top + height - share(y) * height;
    return { svg, lens, colours, px, py, left, top, width, height, x0, x1 };
  });
  let at = null;
  const clear = () => { at = null; box.hide(); for (const c of charts) c.lens.replaceChildren(); };
  // What a line has at a place: in steps the value that holds there, else the point that is nearest.
  const found = ([, points, kind], place) => kind === "steps" ? points.findLast((p) => p[0] <= place)
    : points.reduce((best, p) => Math.abs(p[0] - place) < Math.abs(best[0] - place) ? p : best);
  // Shows that of each line, if it is near.
  const show = (c, place) => {
    at = place;
    c.lens.replaceChildren();
    const x = c.px(place), rows = [];
    // What has a name is near all that has the same.
    const same = (x) => data.names.length > 0 && Math.round(x) === Math.round(place), reach = (c.x1 - c.x0) / 12;
    make("path", { d: `M${x} ${c.top}v${c.height}` }, c.lens);
    let top = c.height + c.top;
    data.lines.forEach((one, n) => {
      const [name, points, kind] = one, p = points.length && !hidden.has(n) ? found(one, place) : null;
      if (!p) return;
      const line = points.length === 2 && points[0][1] === points[1][1], holds = line || kind === "steps";
      if (!holds && !same(p[0]) && Math.abs(p[0] - place) > reach) return;
      const bar = p.length > 2 && p[2] !== null ? ` (${figure(p[2])} to ${figure(p[3])})` : "";
      const away = !holds && !same(p[0]) && p[0] !== place ? ` at ${unit(p[0], data.xu)}` : "";
      // Of what is not joined, all that is near.
      const near = kind === "marks" ? points.filter((q) => Math.abs(q[0] - place) <= (c.x1 - c.x0) / 120) : [];
      const values = near.slice(0, MOST).map((q) => figure(q[1])).join(", "), more = near.length > MOST ? `, and ${near.length - MOST} more` : "";
      rows.push([c.colours[n], name, near.length > 1 ? values + more : (p[4] ? "≥ " : "") + unit(p[1], data.yu) + bar + away]);
      for (const q of near.slice(0, MOST)) if (q !== p) make("circle", { cx: c.px(q[0]), cy: c.py(q[1]), r: 7, stroke: c.colours[n] }, c.lens);
      if (line) return;
      make("circle", { cx: c.px(holds ? place : p[0]), cy: c.py(p[1]), r: 7, stroke: c.colours[n] }, c.lens);
      top = Math.min(top, c.py(p[1]));
    });
    if (!hidden.has(-1)) for (const [n, y, x] of published) {
      if (hidden.has(n) || x !== undefined && Math.abs(x - place) > (c.x1 - c.x0) / 1000) continue;
      rows.push([c.colours[n] ?? "currentColor", n < 0 ? named : `${named}, ${data.lines[n][0]}`, unit(y, data.yu)]);
    }
    const head = data.names.length ? data.names[Math.round(place)] ?? "" : `${data.x} ${unit(place, data.xu)}`;
    const frame = c.svg.getBoundingClientRect(), scale = frame.width / c.svg.viewBox.baseVal.width;
    box.show(head, rows, [frame.left + x * scale, frame.top + top * scale]);
  };
  charts.forEach((c) => {
    const pointed = (event) => {
      const frame = c.svg.getBoundingClientRect(), scale = c.svg.viewBox.baseVal.width / frame.width;
      const [x, y] = [(event.clientX - frame.left) * scale, (event.clientY - frame.top) * scale];
      const all = places();
      if (x < c.left - 8 || x > c.left + c.width + 8 || y < c.top || y > c.top + c.height + 30 || !all.length) return clear();
      show(c, all.reduce((best, v) => Math.abs(c.px(v) - x) < Math.abs(c.px(best) - x) ? v : best));
    };
    c.svg.addEventListener("pointermove", pointed);
    c.svg.addEventListener("pointerdown", pointed);
    // A finger that was lifted leaves the values to be read.
    c.svg.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") clear(); });
    c.svg.addEventListener("blur", clear);
    c.svg.addEventListener("keydown", (event) => {
      if (event.target !== c.svg) return;
      const all = places(), now = all.indexOf(at);
      const step = { ArrowRight: Math.min(now + 1, all.length - 1), ArrowLeft: Math.max(now - 1, 0), Home: 0, End: all.length - 1 };
      if (event.key === "Escape") return clear();
      if (!(event.key in step) || !all.length) return;
      event.preventDefault();
      show(c, all[step[event.key]]);
    });
    for (const key of c.svg.querySelectorAll(".key")) {
      const n = Number(key.dataset.line), name = n < 0 ? named : data.lines[n][0];
      switches(key, name, () => {
        hidden.has(n) ? hidden.delete(n) : hidden.add(n);
        const off = hidden.has(n);
        for (const other of drawings) {
          const mine = other.querySelector(`.key[data-line="${n}"]`);
          mine.classList.toggle("off", off);
          mine.setAttribute("aria-checked", String(!off));
          other.querySelector(n < 0 ? ".published" : `.series[data-line="${n}"]`)?.classList.toggle("off", off);
        }
        clear();
      });
    }
  });
  addEventListener("resize", clear);
  addEventListener("pointerdown", (event) => { if (!plot.contains(event.target)) clear(); });
}
