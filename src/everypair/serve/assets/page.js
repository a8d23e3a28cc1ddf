"use strict";
// What the page is about is in the address, so that it can be sent and reloaded: #item=a&item=b or #user=ann.

const part = (id) => document.getElementById(id);
const SEARCH_PAUSE = 80, HITS = 8, PAGE = 10, SUGGESTED = 8, MOST_VALUES = 80;
const titles = new Map(); // of the items seen so far
const state = { items: [], user: null, where: {}, n: PAGE, near: null, token: sessionStorage.getItem("token") };
let cards = [], turn = 0;

function made(name, content, attributes = {}) {
  const element = document.createElement(name);
  for (const one of [content].flat()) if (one !== null && one !== undefined) element.append(one);
  for (const [key, value] of Object.entries(attributes)) {
    if (key.startsWith("on")) element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value);
  }
  return element;
}

class Refused extends Error {}

async function ask(path, question) {
  const headers = state.token ? { authorization: `Bearer ${state.token}` } : {};
  const request = question === undefined ? { headers } : {
    method: "POST", headers: { ...headers, "content-type": "application/json" }, body: JSON.stringify(question),
  };
  let answer;
  try {
    answer = await fetch(path, request);
  } catch {
    throw new Refused("the service does not answer.");
  }
  const body = await answer.json();
  if (answer.status === 401) part("gate").hidden = false;
  if (!answer.ok) throw new Refused(body.error.message);
  return body;
}

const titleOf = (item) => titles.get(String(item)) ?? String(item);
function know(found) {
  for (const one of found) {
    if (one.title) titles.set(String(one.item), one.title);
    for (const reason of one.reasons ?? []) if (reason.title) titles.set(String(reason.item), reason.title);
  }
}
const named = (item) => {
  const title = titleOf(item);
  return [title, title === String(item) ? null : made("span", String(item), { class: "id" })];
};
const rounded = (value) => Number(value).toLocaleString("en", { maximumSignificantDigits: 4 });
const short = (value) => Number(value).toLocaleString("en", { maximumSignificantDigits: 2 });
function say(words, wrong = false) {
  part("status").textContent = words.charAt(0).toUpperCase() + words.slice(1);
  part("status").classList.toggle("wrong", wrong);
}

// ------------------------------------------------------------------ what is asked

function fromAddress() {
  const said = new URLSearchParams(location.hash.slice(1));
  state.items = said.getAll("item");
  state.user = said.get("user");
  state.n = PAGE;
  state.near = state.items.at(-1) ?? null;
  part("user").value = state.user ?? "";
  show();
}

function change({ items = state.items, user = state.user }) {
  const said = new URLSearchParams();
  if (user !== null) said.set("user", user);
  for (const item of items) said.append("item", item);
  const address = `#${said}`;
  if (address === location.hash) show();
  else location.hash = address; // and fromAddress follows
}

const pick = (item) => change({ items: [...state.items.filter((one) => one !== String(item)), String(item)] });
function drop(item) {
  change({ items: state.items.filter((one) => one !== item) });
  part("search").focus();
}

/** Titles of items that came with the address. */
async function learnTitles() {
  const unknown = cards[0].titles ? state.items.filter((item) => !titles.has(item)) : [];
  await Promise.all(unknown.map(async (item) => {
    titles.set(item, item);
    know((await ask(`/v1/items?${new URLSearchParams({ q: item, limit: 1 })}`)).items.filter((one) => String(one.item) === item));
  }));
  if (unknown.length) showPicked();
}

function showPicked() {
  part("picked").replaceChildren(...state.items.map((item) =>
    made("li", made("button", titleOf(item), { type: "button", "aria-label": `Remove ${titleOf(item)}`, onclick: () => drop(item) }))));
  part("suggested").hidden = state.items.length > 0 || state.user !== null || !part("suggested").lastElementChild.children.length;
}

// ------------------------------------------------------------------ what is answered

async function show() {
  const own = ++turn;
  showPicked();
  const nobody = !state.items.length && state.user === null;
  part("list-hint").hidden = !nobody;
  if (nobody) {
    part("list").replaceChildren();
    part("more").hidden = true;
    say("");
    showNear();
    return;
  }
  const question = { n: state.n };
  if (state.user !== null) question.user = state.user;
  if (state.items.length) question.items = state.items;
  if (offers("explain") && state.n <= 50) question.explain = true;
  if (Object.keys(state.where).length) question.where = state.where;
  const start = performance.now();
  try {
    await learnTitles();
    const answer = await ask("/v1/recommend", question).catch((failure) => {
      if (!question.explain || !(failure instanceof Refused)) throw failure;
      return ask("/v1/recommend", { ...question, explain: false }); // not everybody's list has reasons
    });
    if (own !== turn) return;
    know(answer.items);
    showList(answer, performance.now() - start);
    showPicked();
  } catch (failure) {
    if (own !== turn || !(failure instanceof Refused)) { if (failure instanceof Refused) return; throw failure; }
    part("list").replaceChildren();
    part("more").hidden = true;
    say(failure.message, true);
  }
  showNear();
}

const HOW = { "known": "a user of the model", "known+items": "a user of the model and these items",
  "folded_in": "somebody new with these items", "popular": "somebody of whom nothing is known" };

function showList(answer, milliseconds) {
  const scores = answer.items.map((one) => one.score);
  const low = Math.min(0, ...scores), high = Math.max(...scores, low + 1e-9);
  part("list").replaceChildren(...answer.items.map((one) => {
    const bar = made("span");
    bar.style.width = `${100 * (one.score - low) / (high - low)}%`;
    const why = (one.reasons ?? []).filter((reason) => reason.contribution > 0).map((reason) => `${titleOf(reason.item)} +${short(reason.contribution)}`);
    return made("li", [
      made("span", named(one.item), { class: "name" }),
      made("span", [made("span", "score ", { class: "quiet" }), rounded(one.score)], { class: "number" }),
      made("div", [
        made("button", "Pick", { type: "button", "aria-label": `Pick ${titleOf(one.item)}`, onclick: () => pick(one.item) }),
        offers("similar") ? made("button", "Neighbours", { type: "button",
          "aria-label": `Neighbours of ${titleOf(one.item)}`, onclick: () => { state.near = String(one.item); showNear(); } }) : null,
      ], { class: "do" }),
      made("div", bar, { class: "bar", "aria-hidden": "true" }),
      why.length ? made("p", `because of ${why.join(", ")}`, { class: "why" }) : null,
    ]);
  }));
  part("more").hidden = answer.items.length < state.n || state.n >= 100;
  const arm = cards.length > 1 ? `, by ${answer.variant}` : "";
  const unknown = answer.ignored?.length ? ` Not known: ${answer.ignored.join(", ")}.` : "";
  say(`${answer.items.length} items for ${HOW[answer.how] ?? answer.how}${arm}, in ${Math.max(1, Math.round(milliseconds))} ms.${unknown}`);
}

async function showNear() {
  const item = state.near;
  part("near-hint").hidden = item !== null;
  part("near-title").textContent = item === null ? "Neighbours" : `Neighbours of ${titleOf(item)}`;
  if (item === null) return part("near").replaceChildren();
  try {
    const answer = await ask("/v1/similar", { item, n: 8 });
    if (item !== state.near) return;
    know(answer.items);
    part("near").replaceChildren(...answer.items.map((one) => made("li", [
      made("span", named(one.item), { class: "name" }),
      made("span", [made("span", "cosine ", { class: "quiet" }), one.score.toFixed(3)], { class: "number" }),
      made("div", made("button", "Pick", { type: "button", "aria-label": `Pick ${titleOf(one.item)}, a neighbour`,
        onclick: () => pick(one.item) }), { class: "do" }),
    ])));
  } catch (failure) {
    if (!(failure instanceof Refused)) throw failure;
    part("near").replaceChildren();
  }
}

// ------------------------------------------------------------------ search

const search = part("search"), hits = part("hits");
let found = [], active = -1, pause;

function openHits(items) {
  found = items;
  active = -1;
  know(items);
  hits.replaceChildren(...items.map((one, place) => made("li", [
    made("span", named(one.item)),
    made("span", `${one.users.toLocaleString("en")} users`, { class: "number" }),
  ], { role: "option", id: `hit-${place}`, "aria-selected": "false",
    onpointerdown: (event) => { event.preventDefault(); take(place); } })));
  hits.hidden = !items.length;
  search.setAttribute("aria-expanded", String(items.length > 0));
  search.removeAttribute("aria-activedescendant");
}

function point(place) {
  active = (place + found.length) % found.length;
  [...hits.children].forEach((hit, at) => hit.setAttribute("aria-selected", String(at === active)));
  search.setAttribute("aria-activedescendant", `hit-${active}`);
  hits.children[active].scrollIntoView({ block: "nearest" });
}

function take(place) {
  const item = found[place].item;
  search.value = "";
  openHits([]);
  pick(item);
}

search.addEventListener("input", () => {
  clearTimeout(pause);
  pause = setTimeout(async () => {
    const words = search.value.trim();
    if (!words) return openHits([]);
    try {
      const { items } = await ask(`/v1/items?${new URLSearchParams({ q: words, limit: HITS })}`);
      if (words !== search.value.trim()) return;
      openHits(items);
      say(items.length ? `${items.length} items found; choose with the arrow keys.` : `no item has ${words} in its title or id.`);
    } catch (failure) {
      say(failure.message, true);
    }
  }, SEARCH_PAUSE);
});
search.addEventListener("keydown", (event) => {
  if (event.key === "Escape") { openHits([]); return; }
  if (!found.length) return;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    point(active + (event.key === "ArrowDown" ? 1 : active < 0 ? 0 : -1));
  } else if (event.key === "Enter") {
    event.preventDefault();
    take(Math.max(active, 0));
  }
});
search.addEventListener("blur", () => openHits([]));

// ------------------------------------------------------------------ the model

const offers = (what) => cards.some((one) => one.offers.includes(what));

function showCards() {
  const one = cards[0];
  document.title = `${one.name}: EveryPair`;
  part("about").textContent = cards.map((card) => `${card.name}: ${card.class}, ${card.size}`).join(" and ");
  part("near-part").hidden = !offers("similar");
  part("cards").replaceChildren(...cards.map((card) => {
    const facts = [["Class", card.class], ["Version", card.version], ["Size", card.size]];
    if (card.interactions !== undefined) facts.push(["Known pairs", card.interactions.toLocaleString("en")]);
    if (cards.length > 1) facts.push(["Share of users", `${rounded(100 * card.share)} %`]);
    for (const name of ["rank", "loss", "reg"]) if (card.parameters?.[name] !== undefined) facts.push([name, card.parameters[name]]);
    if (card.record) facts.push(["Created", card.record.created]);
    if (card.record?.commit) facts.push(["Commit", card.record.commit]);
    facts.push(...qualityOf(card), ["Library", card.library]);
    if (card.status) facts.push(["Training", card.status]);
    return made("div", [
      cards.length > 1 ? made("h3", card.name) : null,
      made("dl", facts.flatMap(([name, value]) => [made("dt", name), made("dd", String(value))])),
      curveOf(card),
    ], { class: "card" });
  }));
}

/** Metrics on held-out data: those that were recorded, else those of the last sweep that has any. */
function qualityOf(card) {
  const recorded = Object.entries(card.record?.metrics ?? {});
  if (recorded.length) return recorded.map(([name, value]) => [`${name} (${card.record.held_out ?? "held out"})`, rounded(value)]);
  const last = card.training.findLast((sweep) => Object.keys(sweep).some((name) => name.includes("@"))) ?? {};
  return Object.entries(last).filter(([name, value]) => name.includes("@") && value !== null).map(([name, value]) => [name, rounded(value)]);
}

/** The objective by sweep, drawn. */
function curveOf(card) {
  const values = card.training.map((sweep) => sweep.objective).filter((value) => typeof value === "number");
  if (values.length < 2) return null;
  const svg = (name, attributes, words) => {
    const element = document.createElementNS("http://www.w3.org/2000/svg", name);
    for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
    if (words) element.textContent = words;
    return element;
  };
  const low = Math.min(...values), high = Math.max(...values), width = 400, height = 150;
  const points = values.map((value, place) =>
    `${10 + (width - 20) * place / (values.length - 1)},${10 + (height - 40) * (high - value) / (high - low || 1)}`);
  const words = `The objective fell from ${rounded(values[0])} to ${rounded(values.at(-1))} in ${values.length} steps.`;
  const picture = svg("svg", { viewBox: `0 0 ${width} ${height}`, role: "img", "aria-label": words });
  picture.append(svg("line", { class: "axis", x1: 10, x2: width - 10, y1: height - 26, y2: height - 26 }),
    svg("polyline", { class: "line", points: points.join(" ") }),
    svg("text", { x: 10, y: height - 8 }, "1"), svg("text", { x: width - 10, y: height - 8, "text-anchor": "end" }, String(values.length)));
  return made("figure", [picture, made("figcaption", words)]);
}

function showFilters() {
  const columns = Object.entries(cards[0].columns).filter(([, values]) => values.length > 1 && values.length <= MOST_VALUES);
  part("filters").replaceChildren(...columns.map(([name, values], place) => {
    const choice = made("select", [made("option", "any", { value: "" }), ...values.map((value) => made("option", value || "(none)", { value: `=${value}` }))],
      { id: `filter-${place}`, onchange: () => {
        if (choice.value) state.where[name] = choice.value.slice(1);
        else delete state.where[name];
        show();
      } });
    return made("div", [made("label", name, { for: `filter-${place}` }), choice]);
  }));
}

async function begin() {
  try {
    cards = (await ask("/v1/model")).models;
    part("gate").hidden = true;
    showCards();
    document.querySelectorAll(".ask, .answers").forEach((one) => { one.hidden = !offers("recommend"); });
    if (!offers("recommend")) return;
    const { items } = await ask(`/v1/items?limit=${SUGGESTED}`);
    know(items);
    part("suggested").lastElementChild.replaceChildren(...items.map((one) =>
      made("li", made("button", titleOf(one.item), { type: "button", onclick: () => pick(one.item) }))));
    showFilters();
    fromAddress();
  } catch (failure) {
    if (!(failure instanceof Refused)) throw failure;
    say(failure.message, true);
  }
}

part("who").addEventListener("submit", (event) => {
  event.preventDefault();
  change({ user: part("user").value.trim() || null });
});
part("gate").addEventListener("submit", (event) => {
  event.preventDefault();
  state.token = part("token").value;
  sessionStorage.setItem("token", state.token);
  begin();
});
part("more").addEventListener("click", () => { state.n += PAGE; show(); });
addEventListener("hashchange", fromAddress);
begin();
