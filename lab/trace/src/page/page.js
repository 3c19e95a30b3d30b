"use strict";
// Each plot shows a part of its area: [left, right, top, bottom] in the units of the drawing.
for (const svg of document.querySelectorAll("svg.plot")) {
  const [left, top, width, height] = [78, 8, 870, 330];
  const data = svg.querySelector(".data"), axes = svg.querySelector(".axes");
  const range = (name) => svg.dataset[name].split(" ").map(Number);
  const [x0, x1] = range("x"), [y0, y1] = range("y");
  let view = [0, width, 0, height];

  const ticks = (low, high) => {
    const rough = (high - low) / 8, unit = 10 ** Math.floor(Math.log10(rough));
    const step = [1, 2, 5, 10].map((n) => n * unit).find((s) => s >= rough) || rough;
    const digits = Math.max(0, -Math.floor(Math.log10(step)));
    const found = [];
    for (let n = Math.ceil(low / step); n * step <= high; n++) {
      const at = n * step || 0; // Never -0.
      found.push([at, at.toFixed(digits)]);
    }
    return found;
  };
  const show = () => {
    const [a, b, c, d] = view, sx = width / (b - a), sy = height / (d - c);
    data.setAttribute("transform", `matrix(${sx} 0 0 ${sy} ${-a * sx} ${-c * sy})`);
    const value = (part, whole, low, high) => low + (part / whole) * (high - low);
    const xs = [value(a, width, x0, x1), value(b, width, x0, x1)];
    const ys = [value(height - d, height, y0, y1), value(height - c, height, y0, y1)];
    let text = "";
    for (const [v, label] of ticks(...xs)) {
      const x = left + ((v - xs[0]) / (xs[1] - xs[0])) * width;
      text += `<path d="M${x} ${top}V${top + height}"/><text x="${x}" y="${top + height + 17}" text-anchor="middle">${label}</text>`;
    }
    for (const [v, label] of ticks(...ys)) {
      const y = top + height - ((v - ys[0]) / (ys[1] - ys[0])) * height;
      text += `<path d="M${left} ${y}H${left + width}"/><text x="${left - 7}" y="${y + 4}" text-anchor="end">${label}</text>`;
    }
    axes.innerHTML = text;
  };
  // Where the pointer is, in the units of the drawing.
  const place = (event) => {
    const box = svg.getBoundingClientRect(), scale = 960 / box.width;
    return [(event.clientX - box.left) * scale - left, (event.clientY - box.top) * scale - top];
  };
  svg.addEventListener("wheel", (event) => {
    event.preventDefault();
    const factor = Math.exp((event.deltaY || event.deltaX) * 0.002), [x, y] = place(event);
    const zoom = (low, high, part, whole) => {
      const at = low + (part / whole) * (high - low);
      const span = Math.min(Math.max((high - low) * factor, whole * 1e-6), whole);
      const from = Math.min(Math.max(at - (part / whole) * span, 0), whole - span);
      return [from, from + span];
    };
    if (event.shiftKey) view = [view[0], view[1], ...zoom(view[2], view[3], y, height)];
    else view = [...zoom(view[0], view[1], x, width), view[2], view[3]];
    show();
  }, { passive: false });
  let held = null;
  svg.addEventListener("pointerdown", (event) => { held = place(event); svg.setPointerCapture(event.pointerId); });
  svg.addEventListener("pointerup", () => { held = null; });
  svg.addEventListener("pointermove", (event) => {
    if (!held) return;
    const [x, y] = place(event), [a, b, c, d] = view;
    const move = (low, high, by, whole) => {
      const step = Math.min(Math.max((by / whole) * (high - low), -low), whole - high);
      return [low + step, high + step];
    };
    view = [...move(a, b, held[0] - x, width), ...move(c, d, held[1] - y, height)];
    held = [x, y];
    show();
  });
  svg.addEventListener("dblclick", () => { view = [0, width, 0, height]; show(); });
}
