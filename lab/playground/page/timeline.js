"use strict";
// The timeline: the whole of the time from left to right. In its upper lane are the events, which are made, moved and
// resized by dragging; below it one lane for each side, which leads the diagram.

const Timeline = (() => {
  const $ = (id) => document.getElementById(id);
  const NS = "http://www.w3.org/2000/svg";
  const LEFT = 22, LANE = 26, ROW = 20;
  let story = null, scenario = null, tool = "loss", drag = null, onChange = () => {};

  function element(name, attributes, text) {
    const e = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    if (text !== undefined) e.textContent = text;
    return e;
  }

  // Before there is room for it, its clientWidth is 0.
  const width = () => Math.max(1, $("timeline").clientWidth - LEFT - 4);
  const total = () => scenario.seconds * 1000;
  const x = (ms) => LEFT + (ms / total()) * width();
  const time = (clientX) => {
    const at = clientX - $("timeline").getBoundingClientRect().left - LEFT;
    return Math.min(total(), Math.max(0, (at / width()) * total()));
  };
  // To what a person would type.
  const round = (ms) => {
    const step = total() > 20000 ? 10 : total() > 2000 ? 5 : 1;
    return Math.round(ms / step) * step;
  };
  const isSpan = (event) => event.from_ms !== undefined;

  // When the packet was sent that an event is about, on the first side that has it.
  function momentOf(event) {
    for (const side of story.sides) {
      const packet = side.packets.find((p) =>
        event.what.endsWith("-data") ? p.data === event.number : p.way === event.way && p.number === event.number);
      if (packet) return packet.sent_ms;
    }
    return null;
  }

  function describe(event) {
    const way = { there: "", back: " back", both: " both ways" }[event.way || "there"];
    const which = event.what.endsWith("-data") ? `packet ${event.number} with data` : `packet ${event.number}${way}`;
    if (event.what === "lose-between") return `everything${way} is lost from ${event.from_ms} to ${event.to_ms} ms`;
    if (event.what === "spike") {
      const height = event.height_ms === undefined || event.height_ms === null ? "until its end" : `${event.height_ms} ms`;
      return `spike${way} from ${event.from_ms} to ${event.to_ms} ms: packets wait ${height}`;
    }
    if (event.what.startsWith("lose")) return `${which} is lost`;
    return `${which} is ${event.by_ms} ms late`;
  }

  function drawEvents(svg) {
    scenario.events.forEach((event, index) => {
      const about = describe(event);
      let shape;
      if (isSpan(event)) {
        const kind = event.what === "spike" ? "spike" : "loss";
        const w = Math.max(5, x(event.to_ms) - x(event.from_ms));
        shape = element("rect", { class: "event " + kind, x: x(event.from_ms), y: 3, width: w, height: LANE - 6, rx: 3 });
      } else {
        const at = momentOf(event);
        if (at === null) return;
        const late = event.what.startsWith("delay");
        shape = element("text", { class: "mark " + (late ? "late" : "loss"), x: x(at), y: 18, "text-anchor": "middle" }, late ? "↷" : "✕");
      }
      shape.dataset.event = index;
      shape.setAttribute("tabindex", "0");
      shape.setAttribute("role", "button");
      shape.setAttribute("aria-label", about + ". Arrows move it, Delete removes it.");
      shape.append(element("title", {}, about));
      svg.append(shape);
    });
  }

  function drawSide(svg, side, index) {
    const top = LANE + 4 + index * (ROW + 2);
    svg.append(element("rect", { class: "lane", x: LEFT, y: top, width: width(), height: ROW }));
    svg.append(element("text", { x: 4, y: top + 15 }, "AB"[index]));
    // One stroke a pixel is all that can be seen.
    const seen = new Map();
    const note = (ms, kind, rank) => {
      const at = Math.round(x(ms));
      const before = seen.get(at);
      if (!before || before.rank < rank) seen.set(at, { kind, rank });
    };
    for (const packet of side.packets) {
      if (packet.lost_by) note(packet.sent_ms, "lost", 3);
      else if (packet.again) note(packet.sent_ms, "again", 2);
      else if (packet.data) note(packet.sent_ms, "data", 1);
    }
    for (const decision of side.decisions) if (decision.kind === "timeout") note(decision.at_ms, "timeout", 4);
    for (const [at, { kind, rank }] of seen) {
      svg.append(element("line", { class: "tick " + kind, x1: at, x2: at, y1: top + (rank > 1 ? 1 : 7), y2: top + ROW - 1 }));
    }
  }

  function drawAxis(svg, bottom) {
    const steps = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000, 20000, 60000, 120000];
    const step = steps.find((s) => (s / total()) * width() >= 64) || 120000;
    for (let at = 0; at < total(); at += step) {
      svg.append(element("text", { x: x(at), y: bottom }, at >= 1000 ? Number((at / 1000).toFixed(3)) + " s" : at + " ms"));
    }
  }

  function show(newStory, newScenario) {
    story = newStory;
    scenario = newScenario;
    draw();
  }

  function draw() {
    if (!story) return;
    const svg = $("timeline"), focused = document.activeElement && document.activeElement.dataset.event;
    svg.replaceChildren();
    svg.append(element("rect", { class: "lane", x: LEFT, y: 0, width: width(), height: LANE, "data-lane": "events" }));
    story.sides.forEach((side, index) => drawSide(svg, side, index));
    const bottom = LANE + 4 + story.sides.length * (ROW + 2);
    drawAxis(svg, bottom + 12);
    svg.append(element("rect", { class: "view", id: "view", x: LEFT, y: LANE + 2, width: 10, height: bottom - LANE - 2 }));
    drawEvents(svg);
    if (focused !== undefined) {
      const again = svg.querySelector(`[data-event="${focused}"]`);
      if (again) again.focus({ preventScroll: true });
    }
    drawView();
  }

  function drawView() {
    if (!story || !$("view")) return;
    const [low, high] = Diagram.visible();
    $("view").setAttribute("x", x(Math.min(low, total())));
    $("view").setAttribute("width", Math.max(2, x(high) - x(Math.min(low, total()))));
  }

  function spanOf(from, to) {
    const [a, b] = from < to ? [from, to] : [to, from];
    const from_ms = round(a), to_ms = Math.max(round(b), from_ms + 1);
    return tool === "spike" ? { what: "spike", way: "there", from_ms, to_ms } : { what: "lose-between", way: "there", from_ms, to_ms };
  }

  // A change while something is dragged is only shown; at its end it is played.
  function change(events, final) {
    scenario = { ...scenario, events };
    if (final) onChange(events);
    else draw();
  }

  function down(event) {
    if (!story || event.button > 0) return;
    const box = $("timeline").getBoundingClientRect();
    const target = event.target.dataset ? event.target.dataset.event : undefined;
    const at = time(event.clientX);
    if (target !== undefined) {
      const index = Number(target), subject = scenario.events[index];
      if (!isSpan(subject)) {
        Diagram.scrollTo(momentOf(subject));
        return;
      }
      const near = 8, left = x(subject.from_ms) + box.left, right = x(subject.to_ms) + box.left;
      const wide = right - left > 3 * near;
      const part = wide && event.clientX - left < near ? "from" : wide && right - event.clientX < near ? "to" : "whole";
      drag = { index, part, at, before: { ...subject }, events: scenario.events };
    } else if (event.clientY - box.top < LANE) {
      if (tool === "late") return;
      drag = { index: scenario.events.length, part: "new", at, events: scenario.events };
    } else {
      drag = { part: "scroll" };
      Diagram.scrollTo(at);
    }
    $("timeline").setPointerCapture(event.pointerId);
    event.preventDefault();
  }

  function dragged(event) {
    const at = time(event.clientX);
    if (drag.part === "new") return spanOf(drag.at, at);
    const by = round(at - drag.at), moved = { ...drag.before };
    const clamp = (ms) => Math.min(total(), Math.max(0, ms));
    if (drag.part === "whole") {
      const length = moved.to_ms - moved.from_ms;
      moved.from_ms = Math.min(clamp(moved.from_ms + by), Math.max(0, total() - length));
      moved.to_ms = moved.from_ms + length;
    } else if (drag.part === "from") moved.from_ms = Math.min(clamp(moved.from_ms + by), moved.to_ms - 1);
    else moved.to_ms = Math.max(clamp(moved.to_ms + by), moved.from_ms + 1);
    return moved;
  }

  function withDragged(event) {
    const events = drag.events.slice();
    events[drag.index] = dragged(event);
    return events;
  }

  function move(event) {
    if (!drag) return;
    if (drag.part === "scroll") Diagram.scrollTo(time(event.clientX));
    else change(withDragged(event), false);
  }

  function up(event) {
    if (!drag) return;
    const was = drag;
    if (was.part !== "scroll") {
      const moved = Math.abs(time(event.clientX) - was.at) > 0;
      // A tap makes what is usual.
      const usual = tool === "spike" ? 300 : 50;
      const events = moved || was.part !== "new" ? withDragged(event) : was.events.concat(spanOf(was.at, Math.min(total(), was.at + usual)));
      drag = null;
      change(events, true);
    }
    drag = null;
  }

  function cancel() {
    if (drag && drag.events) change(drag.events, false);
    drag = null;
  }

  function key(event) {
    const target = event.target.dataset && event.target.dataset.event;
    if (target === undefined) return;
    const events = scenario.events.slice(), index = Number(target), subject = events[index];
    const by = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    if (event.key === "Delete" || event.key === "Backspace") events.splice(index, 1);
    else if (by && isSpan(subject)) {
      const step = by * Math.max(1, round(total() / 200));
      const from_ms = event.shiftKey ? subject.from_ms : Math.max(0, subject.from_ms + step);
      events[index] = { ...subject, from_ms, to_ms: Math.max(from_ms + 1, subject.to_ms + step) };
    } else if (by) events[index] = { ...subject, number: Math.max(1, subject.number + by) };
    else return;
    event.preventDefault();
    change(events, true);
  }

  function start(changed) {
    onChange = changed;
    const svg = $("timeline");
    svg.addEventListener("pointerdown", down);
    svg.addEventListener("pointermove", move);
    svg.addEventListener("pointerup", up);
    svg.addEventListener("pointercancel", cancel);
    svg.addEventListener("keydown", key);
  }

  return {
    start, show, draw, drawView, describe, time, round, isSpan, lane: LANE,
    setTool: (t) => { tool = t; }, tool: () => tool,
  };
})();
