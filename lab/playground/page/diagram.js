"use strict";
// The sequence diagram: time runs downwards, both sides share it. Only what is near the window is drawn.

const Diagram = (() => {
  const $ = (id) => document.getElementById(id);
  const NS = "http://www.w3.org/2000/svg";
  const GUTTER = 46, TOP = 24;
  let story = null, scenario = null, columns = [], scale = 0.5, chosen = null, onChoose = () => {}, drawn = null;

  function element(name, attributes, text) {
    const e = document.createElementNS(NS, name);
    for (const [key, value] of Object.entries(attributes)) e.setAttribute(key, value);
    if (text !== undefined) e.textContent = text;
    return e;
  }

  const y = (ms) => TOP + ms * scale;
  const time = (pixels) => Math.max(0, (pixels - TOP) / scale);
  const total = () => (scenario ? scenario.seconds * 1000 : 1000);

  // A round trip is about 70 pixels high, and the whole at most 9000.
  function naturalScale() {
    const rtt = Math.max(4, scenario.link.there_ms + scenario.link.back_ms);
    return Math.min(70 / rtt, 9000 / total());
  }

  function layout() {
    const width = $("diagram").clientWidth;
    const view = document.body.dataset.view;
    const shown = story.sides.map((_, i) => i).filter((i) => view === "both" || story.sides.length < 2 || "AB"[i] === view);
    const each = (width - GUTTER) / shown.length;
    columns = shown.map((side, place) => {
      const left = GUTTER + place * each;
      // Where there is no room for sentences, the diagram has it all.
      const cards = each < 250 ? 0 : Math.min(300, each * 0.42);
      const right = each < 250 ? 14 : Math.min(108, Math.max(90, each * 0.2));
      return { side, left, width: each, cards, x1: left + cards + 14, x2: left + each - right };
    });
    const heads = $("heads");
    heads.replaceChildren();
    heads.style.paddingLeft = GUTTER + "px";
    for (const column of columns) {
      const head = document.createElement("div");
      head.style.width = column.width + "px";
      head.textContent = "AB"[column.side] + ": " + story.sides[column.side].profile;
      heads.append(head);
    }
    heads.style.top = $("tools").offsetHeight + "px";
    $("diagram").style.height = TOP + total() * scale + 30 + "px";
    for (const column of columns) column.placed = placeCards(column);
    drawn = null;
    draw();
  }

  // Decisions of one moment share a card; cards do not overlap, and are short where they are many.
  function placeCards(column) {
    const groups = [];
    for (const decision of story.sides[column.side].decisions) {
      const last = groups[groups.length - 1];
      const before = last && last.all[last.all.length - 1];
      if (last && last.at === decision.at_ms && before.what === decision.what) before.times += 1;
      else if (last && last.at === decision.at_ms) last.all.push({ ...decision, times: 1 });
      else groups.push({ at: decision.at_ms, all: [{ ...decision, times: 1 }] });
    }
    if (!column.cards) return groups.map((group) => ({ ...group, top: y(group.at), height: 0 }));
    const perLine = Math.max(10, (column.cards - 26) / 7.6);
    let bottom = 0;
    return groups.map((group) => {
      const top = Math.max(y(group.at) - 8, bottom + 4);
      const late = top - y(group.at);
      const lines = (text) => Math.ceil(text.length / perLine);
      let rows = 0;
      for (const d of group.all) rows += lines(d.what) + (late > 60 ? 0 : lines(d.why));
      if (late > 160) rows = 1;
      const height = rows * 17 + 2;
      // Far too many: the timeline and the packets still tell.
      const hidden = late > 320;
      if (!hidden) bottom = top + height;
      return { ...group, top, height, late, hidden };
    });
  }

  function kindOf(packet) {
    if (packet.again) return "again";
    return packet.data ? "data" : "ack";
  }

  function labelOf(packet) {
    const tsns = packet.chunks.filter((c) => c.tsn !== undefined && c.tsn !== null).map((c) => c.tsn);
    if (tsns.length && packet.way === "there") {
      const list = tsns.length > 2 ? tsns[0] + "–" + tsns[tsns.length - 1] : tsns.join(", ");
      return (packet.again ? "again " : "") + list;
    }
    const sack = packet.chunks.find((c) => c.name.endsWith("SACK"));
    return sack ? sack.name + " " + sack.text : packet.chunks.map((c) => c.name).join(", ");
  }

  function usualDelay(packet) {
    return (packet.way === "back" ? scenario.link.back_ms : scenario.link.there_ms) + (packet.held_ms || 0);
  }

  // Where the line of a packet ends.
  function endOf(packet) {
    if (packet.arrived_ms !== null) return { at: packet.arrived_ms, part: 1 };
    // The queue is where the path begins.
    const part = packet.lost_by === "queue" ? 0.12 : 0.55;
    if (packet.lost_by) return { at: packet.sent_ms + usualDelay(packet) * part, part };
    return { at: packet.sent_ms + usualDelay(packet), part: 1 };
  }

  function drawPacket(layer, column, packet, index, labels) {
    const there = packet.way === "there";
    const from = there ? column.x1 : column.x2, to = there ? column.x2 : column.x1;
    const end = endOf(packet);
    const x = from + (to - from) * end.part, y1 = y(packet.sent_ms), y2 = y(end.at);
    const kind = kindOf(packet);
    const classes = ["packet", kind];
    if (packet.needless) classes.push("needless");
    if (packet.lost_by) classes.push("lost");
    if (packet.arrived_ms === null && !packet.lost_by) classes.push("late");
    const isChosen = chosen && chosen.side === column.side && chosen.index === index;
    if (isChosen) classes.push("chosen");
    const place = { x1: from, y1, x2: x, y2 };
    layer.append(element("line", { ...place, class: classes.join(" ") }));
    if (packet.lost_by) {
      layer.append(element("path", { class: "cross", d: `M${x - 5} ${y2 - 5}l10 10m0-10l-10 10` }));
    } else if (packet.arrived_ms !== null) {
      const angle = (Math.atan2(y2 - y1, x - from) * 180) / Math.PI;
      layer.append(element("path", { class: "tip " + kind, d: "M0 0L-8 -3L-8 3Z", transform: `translate(${x} ${y2}) rotate(${angle})` }));
    }
    layer.append(element("line", { ...place, class: "hit", "data-side": column.side, "data-index": index }));
    const important = packet.again || packet.lost_by;
    const key = there ? "there" : "back";
    if (y1 - labels[key] >= 13 || (important && y1 - labels[key + "!"] >= 12)) {
      const lost = packet.lost_by ? { event: " lost", queue: " lost: queue", chance: " lost" }[packet.lost_by] : "";
      const room = column.x2 - column.x1;
      let text = labelOf(packet) + lost;
      if (text.length * 5.6 > room - 8) text = text.slice(0, Math.max(4, Math.floor((room - 14) / 5.6))) + "…";
      labels.texts.push(element("text", {
        class: "label " + (packet.lost_by ? "lost" : kind), x: there ? from + 5 : from - 5, y: y1 - 3, "text-anchor": there ? "start" : "end",
      }, text));
      labels[key] = y1;
      if (important) labels[key + "!"] = y1;
    }
  }

  function near(list, low, high, at) {
    return list.filter((item) => at(item) >= low && at(item) <= high);
  }

  function drawColumn(layer, column, low, high) {
    const side = story.sides[column.side];
    const [top, bottom] = [y(Math.max(0, low)), y(Math.min(high, total()))];
    for (const event of scenario.events) {
      if (event.from_ms === undefined) continue;
      const kind = event.what === "spike" ? "spike" : "loss";
      const height = Math.max(2, (event.to_ms - event.from_ms) * scale);
      layer.append(element("rect", { class: "span " + kind, x: column.x1, y: y(event.from_ms), width: column.x2 - column.x1, height }));
    }
    for (const decision of side.decisions) {
      if (decision.since_ms === undefined || decision.at_ms < low || decision.since_ms > high) continue;
      layer.append(element("line", { class: "waited", x1: column.x1 - 5, x2: column.x1 - 5, y1: y(decision.since_ms), y2: y(decision.at_ms) }));
    }
    for (const x of [column.x1, column.x2]) layer.append(element("line", { class: "host", x1: x, x2: x, y1: top, y2: bottom }));
    const labels = { there: -99, back: -99, "there!": -99, "back!": -99, texts: [] };
    side.packets.forEach((packet, index) => {
      const end = packet.arrived_ms === null ? packet.sent_ms + 2000 : packet.arrived_ms;
      if (packet.sent_ms <= high && end >= low) drawPacket(layer, column, packet, index, labels);
    });
    // No line crosses a word.
    layer.append(...labels.texts);
    const slowest = side.summary.max_ms;
    let last = -99;
    for (const message of side.messages) {
      if (message.delivered_ms === null || message.delivered_ms < low || message.delivered_ms > high) continue;
      const at = y(message.delivered_ms), took = message.delivered_ms - message.sent_ms;
      layer.append(element("circle", { class: "delivered", cx: column.x2, cy: at, r: 2.6 }));
      if (column.cards && at - last >= 13) {
        const slow = side.messages.length > 1 && took > slowest * 0.999 && took > side.summary.mean_ms * 1.5;
        layer.append(element("text", { class: slow ? "label slow" : "label", x: column.x2 + 7, y: at + 4 }, `#${message.number} ${took >= 1000 ? (took / 1000).toFixed(2) + " s" : format(took)}`));
        last = at;
      }
    }
  }

  function drawCards(column, low, high) {
    const cards = $("cards");
    for (const group of near(column.placed, low - 600 / scale, high, (g) => g.at)) {
      if (!column.cards || group.hidden) continue;
      const card = document.createElement("div");
      card.className = "decision " + group.all[0].kind + (group.late > 160 ? " short" : "");
      Object.assign(card.style, { left: column.left + 6 + "px", width: column.cards - 14 + "px", top: group.top + "px" });
      const shown = group.late > 160 ? group.all.slice(0, 1) : group.all;
      for (const decision of shown) {
        const what = document.createElement("b"), why = document.createElement("span");
        what.textContent = decision.what + (decision.times > 1 ? `, ${decision.times} times` : "");
        why.textContent = decision.why;
        card.append(what);
        if (group.late <= 60) card.append(why);
      }
      card.title = group.all.map((d) => `${format(d.at_ms)}: ${d.what}: ${d.why}`).join("\n");
      cards.append(card);
    }
  }

  function draw() {
    if (!story) return;
    const box = $("diagram").getBoundingClientRect();
    const low = time(-box.top - 500), high = time(window.innerHeight - box.top + 500);
    // Nothing new to see yet.
    if (drawn && drawn.low <= time(-box.top - 100) && drawn.high >= Math.min(total(), time(window.innerHeight - box.top + 100))) return;
    drawn = { low, high };
    const svg = $("drawing");
    const top = Math.max(0, y(low) - 20), bottom = Math.min($("diagram").clientHeight, y(high) + 20);
    const width = $("diagram").clientWidth, height = Math.max(1, bottom - top);
    svg.setAttribute("viewBox", `0 ${top} ${width} ${height}`);
    svg.setAttribute("width", width);
    svg.setAttribute("height", height);
    svg.style.top = top + "px";
    const layer = document.createDocumentFragment();
    const step = [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000, 2000, 5000, 10000].find((s) => s * scale >= 34) || 10000;
    for (let at = Math.floor(low / step) * step; at <= Math.min(high, total()); at += step) {
      layer.append(element("line", { class: "grid", x1: GUTTER, x2: width, y1: y(at), y2: y(at) }));
      layer.append(element("text", { x: GUTTER - 5, y: y(at) + 4, "text-anchor": "end" }, at >= 1000 ? Number((at / 1000).toFixed(3)) + " s" : at + " ms"));
    }
    $("cards").replaceChildren();
    for (const column of columns) {
      drawColumn(layer, column, low, high);
      drawCards(column, low, high);
    }
    svg.replaceChildren(layer);
  }

  function format(ms) {
    if (ms === null || ms === undefined) return "–";
    if (ms >= 10000) return (ms / 1000).toFixed(1) + " s";
    return (ms >= 100 ? Math.round(ms) : Number(ms.toFixed(1))) + " ms";
  }

  function show(newStory, newScenario, keepScale) {
    story = newStory;
    scenario = newScenario;
    if (!keepScale) scale = naturalScale();
    chosen = null;
    layout();
  }

  // Zooms about the moment in the middle of the window.
  function zoom(factor) {
    if (!story) return;
    const middle = window.innerHeight / 2;
    const at = time(middle - $("diagram").getBoundingClientRect().top);
    scale = Math.min(40, Math.max(200 / total(), Math.min(scale * factor, 400000 / total())));
    layout();
    window.scrollBy(0, y(at) + $("diagram").getBoundingClientRect().top - middle);
    drawn = null;
    draw();
  }

  function scrollTo(ms) {
    const room = $("tools").offsetHeight + $("heads").offsetHeight;
    window.scrollBy(0, y(ms) + $("diagram").getBoundingClientRect().top - room - 60);
  }

  // The moments between which the window shows the diagram.
  function visible() {
    const top = $("diagram").getBoundingClientRect().top;
    const room = $("tools").offsetHeight + $("heads").offsetHeight;
    return [time(room - top), Math.min(total(), time(window.innerHeight - top))];
  }

  function choose(side, index) {
    chosen = index === null ? null : { side, index };
    drawn = null;
    draw();
    onChoose(chosen && { side, packet: story.sides[side].packets[index] });
  }

  // The next packet of the side that is chosen, or the first in the window.
  function step(by) {
    if (!story) return;
    const side = chosen ? chosen.side : columns[0].side;
    const packets = story.sides[side].packets;
    if (!packets.length) return;
    const first = packets.findIndex((p) => p.sent_ms >= visible()[0]);
    const index = chosen ? chosen.index + by : Math.max(0, first);
    const bounded = Math.min(packets.length - 1, Math.max(0, index));
    choose(side, bounded);
    const [low, high] = visible(), at = packets[bounded].sent_ms;
    if (at < low || at > high - 60 / scale) scrollTo(at);
  }

  function packetAt(x, y) {
    const hit = document.elementsFromPoint(x, y).find((e) => e.classList && e.classList.contains("hit"));
    if (!hit) return null;
    const side = Number(hit.dataset.side), index = Number(hit.dataset.index);
    return { side, index, packet: story.sides[side].packets[index] };
  }

  function crosshair(event) {
    const hair = $("hair"), box = $("diagram").getBoundingClientRect();
    hair.hidden = event === null;
    if (!event) return;
    hair.style.top = event.clientY - box.top + "px";
    hair.firstChild.textContent = format(time(event.clientY - box.top));
  }

  return {
    show, layout, draw, zoom, scrollTo, visible, choose, step, packetAt, crosshair, format, kindOf, labelOf,
    whenChosen: (f) => { onChoose = f; },
    chosen: () => chosen && { side: chosen.side, packet: story.sides[chosen.side].packets[chosen.index] },
  };
})();
