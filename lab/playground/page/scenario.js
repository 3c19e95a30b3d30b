"use strict";
// The scenario: what the form says, what the address says, and the module that plays it.

const Scenario = (() => {
  const $ = (id) => document.getElementById(id);
  let exports = null;
  let catalogue = null;

  function bytesOf(base64) {
    const text = atob(base64);
    const bytes = new Uint8Array(text.length);
    for (let i = 0; i < text.length; i++) bytes[i] = text.charCodeAt(i);
    return bytes;
  }

  async function load() {
    if (!window.TRESSE_MODULE) throw new Error("module.js is missing: it belongs into the same folder");
    const { instance } = await WebAssembly.instantiate(bytesOf(window.TRESSE_MODULE), {});
    exports = instance.exports;
    catalogue = catalogue || answer(exports.tresse_catalogue()).ok;
    return catalogue;
  }

  function answer(length) {
    const bytes = new Uint8Array(exports.memory.buffer, exports.tresse_answer(), length);
    return JSON.parse(new TextDecoder().decode(bytes));
  }

  // The story of a scenario, or an error in one line.
  async function play(scenario) {
    const question = new TextEncoder().encode(JSON.stringify(scenario));
    if (!exports) await load();
    try {
      const at = exports.tresse_reserve(question.length);
      new Uint8Array(exports.memory.buffer, at, question.length).set(question);
      return answer(exports.tresse_play());
    } catch (fault) {
      // What a trap leaves behind is not used again.
      exports = null;
      return { error: "the simulator failed: " + fault.message };
    }
  }

  const same = (a, b) => JSON.stringify(a) === JSON.stringify(b);

  // Only what differs from the default stands in an address.
  function toFragment(scenario) {
    const short = {};
    for (const key of Object.keys(catalogue.default)) {
      if (key === "link") {
        const link = {};
        for (const k of Object.keys(scenario.link)) {
          if (!same(scenario.link[k], catalogue.default.link[k])) link[k] = scenario.link[k];
        }
        if (Object.keys(link).length) short.link = link;
      } else if (!same(scenario[key], catalogue.default[key])) short[key] = scenario[key];
    }
    const bytes = new TextEncoder().encode(JSON.stringify(short));
    const text = btoa(String.fromCharCode(...bytes));
    return "#s=" + text.replaceAll("+", "-").replaceAll("/", "_").replace(/=+$/, "");
  }

  // The scenario of an address, which anybody may have written: the module judges it. null without one.
  function fromFragment(fragment) {
    if (!fragment.startsWith("#s=")) return null;
    const text = fragment.slice(3).replaceAll("-", "+").replaceAll("_", "/");
    const given = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(bytesOf(text)));
    if (typeof given !== "object" || given === null || Array.isArray(given)) throw new Error("it is not a scenario");
    if (given.events !== undefined && !Array.isArray(given.events)) throw new Error("its events are not a list");
    const whole = structuredClone(catalogue.default);
    for (const key of Object.keys(given)) whole[key] = given[key];
    if (given.link && typeof given.link === "object") whole.link = { ...catalogue.default.link, ...given.link };
    return whole;
  }

  function count(traffic) {
    return traffic.kind === "bursts" ? traffic.bursts : traffic.messages;
  }

  function fill(scenario) {
    const set = (id, value) => { $(id).value = value === undefined || value === null ? "" : value; };
    const sides = Array.isArray(scenario.sides) ? scenario.sides : [];
    ["a", "b"].forEach((letter, i) => {
      set("profile-" + letter, sides[i] && sides[i].profile);
      set("overrides-" + letter, sides[i] && sides[i].overrides);
    });
    const link = scenario.link || {}, traffic = scenario.traffic || {};
    set("rate", link.rate_kbps); set("there", link.there_ms); set("back", link.back_ms);
    set("queue", link.queue_packets); set("loss-there", link.loss_there_percent); set("loss-back", link.loss_back_percent);
    set("kind", traffic.kind); set("size", traffic.size); set("count", count(traffic));
    set("burst", traffic.burst || 4); set("interval", traffic.interval_ms || 250);
    set("seconds", scenario.seconds); set("seed", scenario.seed);
    showFields();
  }

  function showFields() {
    for (const label of document.querySelectorAll("[data-for]")) {
      label.hidden = !label.dataset.for.split(" ").includes($("kind").value);
    }
  }

  // What the form says; `events` do not stand in it.
  function read(events) {
    // An empty field is a value that the module refuses, by its name.
    const number = (id) => ($(id).value.trim() === "" ? 0 : Number($(id).value));
    const whole = (id) => Math.trunc(number(id));
    const kind = $("kind").value;
    const traffic = { kind, size: whole("size") };
    if (kind === "bursts") traffic.burst = whole("burst");
    if (kind !== "bulk") traffic.interval_ms = number("interval");
    if ($("count").value.trim() !== "") traffic[kind === "bursts" ? "bursts" : "messages"] = whole("count");
    const sides = ["a", "b"].map((letter) => ({
      profile: $("profile-" + letter).value.trim(), overrides: $("overrides-" + letter).value,
    }));
    if (sides[1].profile === "") sides.pop();
    return {
      seed: whole("seed"), seconds: number("seconds"), sides,
      link: {
        rate_kbps: number("rate"), there_ms: number("there"), back_ms: number("back"), queue_packets: whole("queue"),
        loss_there_percent: number("loss-there"), loss_back_percent: number("loss-back"),
      },
      traffic, events,
    };
  }

  return { load, play, toFragment, fromFragment, fill, read, showFields, same };
})();
