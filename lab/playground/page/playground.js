"use strict";
// What holds the page together: form, events, address, panel.

(() => {
  const $ = (id) => document.getElementById(id);
  let catalogue = null, scenario = null, story = null, pending = null, tall = "";

  function fail(line) {
    $("error").hidden = !line;
    $("error").textContent = line || "";
  }

  // Plays what stands in `scenario`. `keep`: the diagram keeps its scale.
  async function play(keep) {
    const started = performance.now();
    const result = await Scenario.play(scenario);
    const took = performance.now() - started;
    fail(result.error);
    history.replaceState(null, "", Scenario.toFragment(scenario));
    if (result.error) return;
    story = result.ok;
    document.body.dataset.sides = story.sides.length;
    numbers();
    list();
    const shape = `${scenario.seconds} ${scenario.link.there_ms} ${scenario.link.back_ms}`;
    Diagram.show(story, scenario, keep && shape === tall);
    tall = shape;
    Timeline.show(story, scenario);
    closePanel();
    const simulated = story.sides.reduce((sum, side) => sum + side.ended_ms, 0);
    const packets = story.sides.reduce((sum, side) => sum + side.packets.length + side.packets_left_out, 0);
    document.body.dataset.speed = simulated / took;
    $("foot").textContent = `${packets} packets in ${(simulated / 1000).toFixed(1)} simulated seconds, played in ${Math.round(took)} ms.`;
    document.body.dataset.played = Number(document.body.dataset.played || 0) + 1;
  }

  function playSoon() {
    clearTimeout(pending);
    pending = setTimeout(() => { scenario = Scenario.read(scenario.events); play(true); }, 250);
  }

  function setEvents(events) {
    clearTimeout(pending);
    scenario = Scenario.read(events);
    $("preset").value = "";
    play(true);
  }

  function cell(row, tag, text, kind) {
    const e = document.createElement(tag);
    e.textContent = text;
    if (kind) e.className = kind;
    row.append(e);
    return e;
  }

  function numbers() {
    const ms = Diagram.format, whole = (n) => String(n);
    const rows = [
      ["Messages delivered", (s) => `${s.delivered} of ${s.messages}`, (s) => s.messages - s.delivered],
      ["Mean transfer time", (s) => ms(s.mean_ms), (s) => s.mean_ms],
      ["99 of 100 within", (s) => ms(s.p99_ms), (s) => s.p99_ms],
      ["Slowest message", (s) => ms(s.max_ms), (s) => s.max_ms],
      ["Goodput", (s) => (s.goodput_kbps >= 100 ? s.goodput_kbps.toFixed(0) : s.goodput_kbps.toFixed(1)) + " kbit/s", null],
      ["Chunks sent again", (s) => whole(s.again), null],
      ["of these needlessly", (s) => whole(s.needless), (s) => s.needless],
      ["T3-rtx timeouts", (s) => whole(s.timeouts), (s) => s.timeouts],
      ["Packets lost: events, queue, chance", (s) => `${s.lost_by_events}, ${s.lost_in_queue}, ${s.lost_by_chance}`, null],
    ];
    const table = document.createElement("table");
    const head = table.createTHead().insertRow();
    cell(head, "th", "");
    story.sides.forEach((side, i) => cell(head, "th", `${"AB"[i]}: ${side.profile}`));
    const body = table.createTBody();
    for (const [name, text, rank] of rows) {
      const row = body.insertRow();
      cell(row, "th", name).scope = "row";
      const ranks = rank ? story.sides.map((side) => rank(side.summary)) : [];
      story.sides.forEach((side, i) => {
        const better = ranks.length === 2 && ranks[i] !== null && ranks[1 - i] !== null && ranks[i] < ranks[1 - i];
        cell(row, "td", text(side.summary), better ? "better" : "");
      });
    }
    story.sides.forEach((side, i) => {
      const notes = [side.note, side.packets_left_out ? `${side.packets_left_out} packets are counted and not drawn` : null];
      for (const note of notes.filter(Boolean)) {
        const row = body.insertRow();
        cell(row, "th", "AB"[i]);
        cell(row, "td", note, "note").colSpan = story.sides.length;
      }
    });
    $("numbers").replaceChildren(table);
  }

  // The events in words and numbers, which can be typed.
  function list() {
    $("event-count").textContent = scenario.events.length ? `(${scenario.events.length})` : "(none)";
    const items = scenario.events.map((event, index) => {
      const item = document.createElement("li"), row = document.createElement("span");
      row.className = "row";
      const said = document.createElement("span");
      said.textContent = Timeline.describe(event);
      said.className = "grow";
      row.append(said);
      const field = (key, name) => {
        const label = document.createElement("label"), input = document.createElement("input");
        Object.assign(input, { type: "number", step: "any", min: 0, value: event[key] === undefined || event[key] === null ? "" : event[key] });
        label.append(name + " ", input);
        input.addEventListener("change", () => {
          const events = scenario.events.slice(), changed = { ...event, [key]: Number(input.value) };
          if (input.value.trim() === "") delete changed[key];
          events[index] = changed;
          setEvents(events);
        });
        row.append(label);
      };
      if (Timeline.isSpan(event)) {
        const way = document.createElement("select");
        way.setAttribute("aria-label", "Direction");
        for (const [value, text] of [["there", "there"], ["back", "back"], ["both", "both ways"]]) way.append(new Option(text, value));
        way.value = event.way || "there";
        way.addEventListener("change", () => setEvents(scenario.events.map((e, i) => (i === index ? { ...e, way: way.value } : e))));
        row.append(way);
        field("from_ms", "from"); field("to_ms", "to");
        if (event.what === "spike") field("height_ms", "height");
      } else {
        field("number", "packet");
        if (event.by_ms !== undefined) field("by_ms", "by ms");
      }
      const remove = document.createElement("button");
      remove.type = "button";
      remove.textContent = "Remove";
      remove.addEventListener("click", () => setEvents(scenario.events.filter((_, i) => i !== index)));
      row.append(remove);
      item.append(row);
      return item;
    });
    $("events").replaceChildren(...items);
  }

  // What names a packet in an event.
  function nameOf(packet, verb) {
    return packet.data
      ? { what: verb + "-data", number: packet.data }
      : { what: verb + "-packet", way: packet.way, number: packet.number };
  }

  const isAbout = (event, packet) => event.number !== undefined
    && (event.what.endsWith("-data") ? packet.data === event.number : event.way === packet.way && event.number === packet.number);

  function lose(packet) {
    const others = scenario.events.filter((e) => !isAbout(e, packet));
    const was = scenario.events.some((e) => isAbout(e, packet) && e.what.startsWith("lose"));
    setEvents(was ? others : others.concat(nameOf(packet, "lose")));
  }

  function delay(packet, by_ms) {
    const others = scenario.events.filter((e) => !isAbout(e, packet));
    setEvents(by_ms > 0 ? others.concat({ ...nameOf(packet, "delay"), by_ms }) : others);
  }

  // Late enough that a few overtake it.
  const usualDelay = () => Math.max(20, Math.round((scenario.link.there_ms + scenario.link.back_ms) * 0.6));

  function closePanel() { $("panel").hidden = true; }

  function panel(chosen) {
    if (!chosen) return closePanel();
    const { packet, side } = chosen, box = $("panel");
    const fate = packet.arrived_ms !== null ? `arrived ${Diagram.format(packet.arrived_ms - packet.sent_ms)} later`
      : packet.lost_by ? { event: "lost by an event", queue: "lost: the queue was full", chance: "lost at random" }[packet.lost_by]
        : "still under way at the end";
    const title = document.createElement("p"), strong = document.createElement("b");
    strong.textContent = `${"AB"[side]}, packet ${packet.number} ${packet.way}${packet.data ? ` (${packet.data} with data)` : ""}`;
    title.append(strong, `, sent at ${Diagram.format(packet.sent_ms)}, ${packet.bytes} bytes, ${fate}`
      + (packet.held_ms ? `, held up for ${Diagram.format(packet.held_ms)}` : "")
      + (packet.again ? `. Sent again: ${packet.again}${packet.needless ? ", needlessly: what was sent before arrives" : ""}` : "") + ".");
    const chunks = document.createElement("p");
    chunks.textContent = packet.chunks.map((c) => `${c.name}${c.tsn ? ` TSN ${c.tsn}` : ""}${c.text ? ` ${c.tsn ? "(" + c.text + ")" : c.text}` : ""}`
      + (c.transmission ? `, transmission ${c.transmission}` : "")).join(" · ");
    const row = document.createElement("div");
    row.className = "row";
    const button = (text, action) => {
      const b = document.createElement("button");
      b.type = "button";
      b.textContent = text;
      b.addEventListener("click", action);
      row.append(b);
      return b;
    };
    const isLost = scenario.events.some((e) => isAbout(e, packet) && e.what.startsWith("lose"));
    button(isLost ? "Do not lose it" : "Lose it", () => lose(packet)).id = "lose";
    const by = document.createElement("input");
    const present = scenario.events.find((e) => isAbout(e, packet) && e.by_ms !== undefined);
    Object.assign(by, { type: "number", min: 0, step: "any", value: present ? present.by_ms : usualDelay() });
    by.setAttribute("aria-label", "Milliseconds of delay");
    button("Delay it by", () => delay(packet, Number(by.value))).id = "delay";
    row.append(by, " ms");
    if (present) button("In time again", () => delay(packet, 0));
    button("Close", () => Diagram.choose(0, null));
    box.replaceChildren(title, chunks, row);
    box.hidden = false;
  }

  function chips() {
    for (const chip of document.querySelectorAll(".chip")) {
      const choose = () => {
        Timeline.setTool(chip.dataset.tool);
        for (const c of document.querySelectorAll(".chip")) c.setAttribute("aria-checked", c === chip);
      };
      chip.addEventListener("click", choose);
      chip.addEventListener("pointerdown", (down) => {
        let ghost = null;
        const move = (event) => {
          if (!ghost && Math.hypot(event.clientX - down.clientX, event.clientY - down.clientY) < 6) return;
          if (!ghost) {
            ghost = document.createElement("div");
            ghost.id = "ghost";
            ghost.textContent = chip.textContent;
            document.body.append(ghost);
            choose();
          }
          ghost.style.left = event.clientX + 8 + "px";
          ghost.style.top = event.clientY + 8 + "px";
        };
        const end = (event) => {
          chip.removeEventListener("pointermove", move);
          chip.removeEventListener("pointerup", end);
          chip.removeEventListener("pointercancel", end);
          if (!ghost) return;
          ghost.remove();
          if (event.type === "pointerup") drop(chip.dataset.tool, event.clientX, event.clientY);
        };
        chip.setPointerCapture(down.pointerId);
        chip.addEventListener("pointermove", move);
        chip.addEventListener("pointerup", end);
        chip.addEventListener("pointercancel", end);
      });
    }
  }

  // A word from above is let go over a packet or the timeline.
  function drop(tool, x, y) {
    if (!story) return;
    const found = Diagram.packetAt(x, y), box = $("timeline").getBoundingClientRect();
    const span = (at, length) => ({ from_ms: Timeline.round(at), to_ms: Timeline.round(Math.min(scenario.seconds * 1000, at + length)) });
    if (found && tool === "loss") lose(found.packet);
    else if (found && tool === "late") delay(found.packet, usualDelay());
    else if (found) setEvents(scenario.events.concat({ what: "spike", way: found.packet.way, ...span(found.packet.sent_ms, 300) }));
    else if (y >= box.top && y <= box.bottom && tool !== "late") {
      const at = Timeline.time(x);
      const what = tool === "spike" ? "spike" : "lose-between";
      setEvents(scenario.events.concat({ what, way: "there", ...span(at, tool === "spike" ? 300 : 50) }));
    }
  }

  function setView(view) {
    document.body.dataset.view = view;
    for (const b of document.querySelectorAll("button[data-view]")) b.setAttribute("aria-checked", b.dataset.view === view);
    if (!story) return;
    Diagram.choose(0, null);
    Diagram.layout();
  }

  function begin(given, about) {
    scenario = given;
    Scenario.fill(scenario);
    $("about").textContent = about || "";
    return play(false);
  }

  async function share() {
    const address = location.href;
    try {
      await navigator.clipboard.writeText(address);
      $("shared").textContent = "copied";
    } catch {
      // Where a page may not write there, its address is in the address line all the same.
      $("shared").textContent = "it is in the address line";
    }
    setTimeout(() => { $("shared").textContent = ""; }, 3000);
  }

  // The scenario of the address, or the first preset.
  async function fromAddress() {
    try {
      const given = Scenario.fromFragment(location.hash);
      if (given) {
        const preset = catalogue.presets.find((p) => Scenario.same(p.scenario, given));
        $("preset").value = preset ? preset.name : "";
        return await begin(given, preset && preset.about);
      }
    } catch (fault) {
      await begin(structuredClone(catalogue.presets[0].scenario), catalogue.presets[0].about);
      return fail("the address has no scenario that can be read: " + fault.message);
    }
    $("preset").value = catalogue.presets[0].name;
    return begin(structuredClone(catalogue.presets[0].scenario), catalogue.presets[0].about);
  }

  function listen() {
    $("preset").addEventListener("change", () => {
      const preset = catalogue.presets.find((p) => p.name === $("preset").value);
      if (preset) begin(structuredClone(preset.scenario), preset.about);
    });
    $("form").addEventListener("input", () => { $("preset").value = ""; Scenario.showFields(); playSoon(); });
    $("form").addEventListener("submit", (event) => event.preventDefault());
    $("overlay").addEventListener("change", (event) => {
      event.stopPropagation();
      const [side, name] = $("overlay").value.split(" ");
      $("overlay").value = "";
      if (!name) return;
      const field = $("profile-" + side);
      field.value = field.value ? field.value + "+" + name : name;
      playSoon();
    });
    $("share").addEventListener("click", share);
    $("clear").addEventListener("click", () => setEvents([]));
    $("zoom-in").addEventListener("click", () => Diagram.zoom(1.5));
    $("zoom-out").addEventListener("click", () => Diagram.zoom(1 / 1.5));
    for (const b of document.querySelectorAll("button[data-view]")) b.addEventListener("click", () => setView(b.dataset.view));
    const diagram = $("diagram");
    diagram.addEventListener("click", (event) => {
      const found = Diagram.packetAt(event.clientX, event.clientY);
      Diagram.choose(found ? found.side : 0, found ? found.index : null);
    });
    diagram.addEventListener("pointermove", (event) => { if (event.pointerType === "mouse") Diagram.crosshair(event); });
    diagram.addEventListener("pointerleave", () => Diagram.crosshair(null));
    diagram.addEventListener("wheel", (event) => {
      if (!event.ctrlKey) return;
      event.preventDefault();
      Diagram.zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2);
    }, { passive: false });
    document.addEventListener("keydown", keys);
    let waiting = false;
    const redraw = () => {
      if (waiting) return;
      waiting = true;
      requestAnimationFrame(() => { waiting = false; Diagram.draw(); Timeline.drawView(); });
    };
    window.addEventListener("scroll", redraw, { passive: true });
    let width = window.innerWidth;
    window.addEventListener("resize", () => {
      if (story && width !== window.innerWidth) { width = window.innerWidth; Diagram.layout(); Timeline.draw(); } else redraw();
    });
    window.addEventListener("hashchange", fromAddress);
  }

  function keys(event) {
    if (event.ctrlKey || event.metaKey || event.altKey || /INPUT|TEXTAREA|SELECT/.test(event.target.tagName)) return;
    if (event.key === "+" || event.key === "=") Diagram.zoom(1.5);
    else if (event.key === "-") Diagram.zoom(1 / 1.5);
    else if (event.key === "Escape") Diagram.choose(0, null);
    else if (document.activeElement === $("diagram")) {
      const found = Diagram.chosen();
      if (event.key === "ArrowDown") Diagram.step(1);
      else if (event.key === "ArrowUp") Diagram.step(-1);
      else if (found && event.key.toLowerCase() === "l") lose(found.packet);
      else if (found && event.key.toLowerCase() === "d") delay(found.packet, usualDelay());
      else return;
    } else return;
    event.preventDefault();
  }

  async function start() {
    try {
      catalogue = await Scenario.load();
    } catch (fault) {
      return fail("the simulator cannot be loaded: " + fault.message);
    }
    $("preset").append(new Option("a scenario of your own", ""));
    for (const preset of catalogue.presets) $("preset").append(new Option(preset.name, preset.name));
    for (const name of catalogue.profiles) {
      const option = document.createElement("option");
      option.value = name;
      $("profiles").append(option);
    }
    $("overlay").append(new Option("a mechanism …", ""));
    for (const side of ["a", "b"]) {
      const group = document.createElement("optgroup");
      group.label = "to " + side.toUpperCase();
      for (const name of catalogue.overlays) group.append(new Option(name, side + " " + name));
      $("overlay").append(group);
    }
    setView(window.innerWidth < 720 ? "A" : "both");
    if (window.innerWidth < 720) $("settings").open = false;
    chips();
    listen();
    Timeline.start(setEvents);
    Diagram.whenChosen(panel);
    await fromAddress();
  }

  start();
})();
