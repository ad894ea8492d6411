// What is asked, and what is done with the answers.

import * as api from "./api.js";
import { cards, named } from "./cards.js";
import { address, copyText, csv, restored, save } from "./copy.js";
import { byId, make, marked, picture } from "./dom.js";
import { editor } from "./editor.js";
import { uploads } from "./upload.js";

const MOST = 20;
const EXAMPLE = "CC(=O)Nc1ccc(O)cc1 paracetamol\nCC(=O)Oc1ccccc1C(=O)O aspirin\nCn1cnc2c1c(=O)n(C)c(=O)n2C caffeine";

let models = [], running = null, shown = null;
const chosen = new Map(); // the target that is explained, by model
const say = text => { byId("status").textContent = text; };

// The text of the field as molecules: a SMILES, and perhaps a name behind a blank.
function molecules(text) {
  return text.split(/\r?\n/).map(line => line.trim()).filter(Boolean).map(line => {
    const [smiles, ...name] = line.split(/[\s]+/);
    return { smiles, name: name.join(" ").slice(0, 500) };
  });
}

const picked = () => models.filter(model => byId("models").querySelector(`input[value="${CSS.escape(model.name)}"]`).checked);

function conditions() {
  const names = [...new Set(picked().flatMap(model => model.columns))], place = byId("columns");
  const before = values();
  place.hidden = !names.length;
  place.replaceChildren(make("legend", {}, "Conditions"), ...names.map(name => {
    const field = make("input", { type: "number", step: "any", required: true, name });
    field.value = before[name] ?? "";
    return make("label", {}, name, field);
  }));
  const widest = Math.max(0, ...picked().map(model => model.intervals)), coverage = byId("coverage");
  byId("coverage-field").hidden = !widest;
  // Levels that no model has enough calibration rows for cannot be chosen; the widest that one has takes their place.
  for (const option of coverage.options) option.disabled = Number(option.value) > widest;
  if (coverage.selectedOptions[0]?.disabled)
    coverage.value = [...coverage.options].filter(one => one.value && !one.disabled).at(-1)?.value ?? "";
}

const values = () => Object.fromEntries([...byId("columns").querySelectorAll("input")].map(one => [one.name, one.value]));
const asked = () => ({ text: byId("molecules").value.trim(), models: picked().map(model => model.name),
  coverage: byId("coverage").value, columns: values() });

function request(model, some, more) {
  const columns = Object.fromEntries(model.columns.map(name => [name, Number(values()[name])]));
  return { model: model.name, molecules: some.map(one => ({ ...one, columns })), ...more };
}

function faults(rows, given) {
  byId("faults").replaceChildren(...rows.map((row, i) => row.reason
    ? make("li", {}, make("code", {}, marked(given[i].smiles, row.where)), ` ${row.reason}`) : null).filter(Boolean));
}

async function predict() {
  const given = molecules(byId("molecules").value), used = picked();
  if (!given.length) { say("Type a SMILES first."); byId("molecules").focus(); return; }
  if (!used.length) { say("Choose a model."); return; }
  const some = given.slice(0, MOST), coverage = Number(byId("coverage").value) || null;
  if (running) running.abort();
  const mine = running = new AbortController(), { signal } = mine;
  const link = address(asked());
  history.replaceState(null, "", link);
  say("predicting\u2026");
  byId("go").disabled = true;
  const answers = new Map();
  try {
    await Promise.all(used.map(async model => {
      const more = { domain: model.domain, interval: model.intervals >= coverage ? coverage : null, drawings: !model.explains };
      answers.set(model, (await api.post("/predict", request(model, some, more), signal)).rows);
    }));
  } catch (error) {
    if (error.name !== "AbortError") say(error.message);
    if (error.status === 401) askToken();
    return;
  } finally {
    byId("go").disabled = false;
  }
  faults(answers.get(used[0]), some);
  shown = { molecules: some, models: used, answers, link };
  byId("results").hidden = false;
  const places = cards(some, used, answers, coverage);
  if (!matchMedia("(min-width: 46rem)").matches) byId("results").scrollIntoView();
  const left = given.length - some.length;
  const note = left ? `; the first ${MOST} of ${given.length} are shown, upload a table for all` : "";
  const done = `${some.length} molecule${some.length > 1 ? "s" : ""}, ${used.length} model${used.length > 1 ? "s" : ""}${note}`;
  say(done);
  await reasons(some, used, places, answers, signal);
}

// Explanations and neighbours come after the predictions, a few at a time.
async function reasons(some, used, places, answers, signal) {
  const work = [];
  for (const model of used) {
    some.forEach((molecule, i) => {
      const place = places.get(`${i} ${model.name}`);
      if (!place) return;
      if (!model.explains) {
        const drawing = answers.get(model)[i].drawing;
        if (drawing) place.plain(make("figure", {}, make("div", { class: "paper" }, picture(drawing, molecule.smiles))), "This method has no explanations.");
        return;
      }
      place.waiting();
      const explain = async target => {
        const more = { drawings: true, pairs: model.pairs, fields: model.fields, target };
        try {
          const [row] = (await api.post("/explain", request(model, [molecule], more), signal)).rows;
          place.explain(row, molecule.name, other => { chosen.set(model.name, other); explain(other); });
        } catch (error) {
          if (error.name !== "AbortError") place.plain("", error.message);
        }
      };
      work.push(() => explain(chosen.get(model.name) || null));
    });
    if (model.nearest) work.push(async () => {
      const known = some.map((molecule, i) => [molecule, places.get(`${i} ${model.name}`)]).filter(([, place]) => place);
      if (!known.length) return;
      try {
        const found = await api.post("/nearest", request(model, known.map(([one]) => one), { count: 3, drawings: true }), signal);
        found.rows.forEach((row, k) => known[k][1].neighbours(row.nearest));
      } catch { /* predictions stand without them */ }
    });
  }
  const next = async () => { while (work.length && !signal.aborted) await work.shift()(); };
  await Promise.all([next(), next()]);
}

function askToken() {
  byId("token-form").hidden = false;
  byId("token-fault").textContent = api.token() ? "The server refuses this token." : "";
  byId("ask").hidden = byId("upload").hidden = true;
  byId("token").focus();
}

// What an address asks for: when the page opens, and when a link is pasted into it.
async function begin() {
  const before = restored();
  if (before.token) {
    api.setToken(before.token);
    history.replaceState(null, "", location.pathname);
  }
  try {
    models = await api.get("/models");
  } catch (error) {
    if (error.status === 401) { askToken(); return; }
    byId("lead").textContent = error.message;
    return;
  }
  byId("token-form").hidden = true;
  byId("ask").hidden = byId("upload").hidden = false;
  const targets = [...new Set(models.flatMap(model => model.targets))];
  byId("lead").textContent = "Predictions of " + targets.slice(0, 6).join(", ") + (targets.length > 6 ? " and more" : "") + ", with reasons";
  byId("models").replaceChildren(make("legend", {}, "Models"), ...models.map((model, i) => make("label", {},
    make("input", { type: "checkbox", value: model.name, checked: before.models ? before.models.includes(model.name) : i === 0,
      onchange: conditions }),
    make("span", {}, model.name, named(model) ? null : make("span", { class: "soft" },
      ` ${model.targets.slice(0, 3).join(", ")}${model.targets.length > 3 ? ", \u2026" : ""}`)))));
  byId("upload-model").replaceChildren(...models.map(model => make("option", { value: model.name }, model.name)));
  conditions();
  for (const field of byId("columns").querySelectorAll("input")) field.value = before.columns[field.name] ?? "";
  if ([...byId("coverage").options].some(option => option.value === before.coverage && !option.disabled))
    byId("coverage").value = before.coverage;
  if (before.text) {
    byId("molecules").value = before.text;
    if (byId("ask").checkValidity()) await predict();
  } else {
    byId("molecules").focus({ preventScroll: true });
  }
}

byId("ask").addEventListener("submit", event => { event.preventDefault(); predict(); });
byId("molecules").addEventListener("keydown", event => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); byId("ask").requestSubmit(); }
});
byId("example").addEventListener("click", () => { byId("molecules").value = EXAMPLE; byId("ask").requestSubmit(); });
byId("token-form").addEventListener("submit", event => {
  event.preventDefault();
  api.setToken(byId("token").value.trim());
  begin();
});
uploads(() => models, () => byId("coverage").value);
editor(smiles => { byId("molecules").value = (byId("molecules").value.trim() + "\n" + smiles).trim() + "\n"; });
addEventListener("hashchange", () => {
  const { text, token } = restored();
  if (text || token) begin(); // else it is the link that skips to the results
});
const flash = (button, text) => {
  const before = button.textContent;
  button.textContent = text;
  setTimeout(() => { button.textContent = before; }, 2000);
};
byId("copy-link").addEventListener("click", async event => flash(event.target, await copyText(shown.link) ? "Copied" : "Not copied"));
byId("copy-csv").addEventListener("click", async event =>
  flash(event.target, await copyText(csv(shown.molecules, shown.models, shown.answers)) ? "Copied" : "Not copied"));
byId("save-csv").addEventListener("click", () => save(csv(shown.molecules, shown.models, shown.answers), "predictions.csv", "text/csv"));
begin();
