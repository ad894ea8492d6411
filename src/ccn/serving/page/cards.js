// A card for each molecule: for each model its prediction, why, and what is near.

import { byId, make, marked, number, svg } from "./dom.js";
import { explained, neighbours } from "./drawing.js";
import { imageButtons } from "./copy.js";

// A value and the ends of its interval: two digits of half the interval's width are worth reading.
function rounded(low, high, value) {
  const digits = 1 - Math.floor(Math.log10((high - low) / 2));
  return [low, high, value].map(x => digits > -4 && digits < 8 ? x.toFixed(Math.max(digits, 0)).replace("-", "\u2212") : number(x));
}

// The interval on a scale that all molecules of a model share.
function range(low, high, value, span) {
  const at = x => 100 * (x - span[0]) / ((span[1] - span[0]) || 1);
  return make("div", { class: "range", "aria-hidden": "true" }, svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none" },
    svg("rect", { x: at(low), y: 0, width: Math.max(at(high) - at(low), 0.5), height: 10, fill: "var(--range)" }),
    svg("rect", { x: at(value) - 0.7, y: -3, width: 1.4, height: 16, fill: "var(--dot)" })));
}

function share(p) {
  return make("div", { class: "range", "aria-hidden": "true" }, svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none" },
    svg("rect", { x: 0, y: 0, width: 100 * p, height: 10, fill: "var(--dot)" })));
}

function regression(model, values, target, i, spans, coverage) {
  const value = values[target + "_pred"], low = values[target + "_low"], high = values[target + "_high"];
  const known = typeof low === "number" && typeof high === "number", texts = known ? rounded(low, high, value) : [];
  const unit = model.units[i] ? make("small", {}, " " + model.units[i]) : null;
  const made = make("div", { class: "value" }, make("div", { class: "name" }, target), make("div", { class: "big" }, known ? texts[2] : number(value), unit));
  if (known) {
    const said = `${Math.round(100 * coverage)} % interval`;
    made.append(range(low, high, value, spans[target]), make("div", { class: "ends" },
      make("span", {}, `${texts[0]} to ${texts[1]}`), make("span", {}, said)));
  }
  return made;
}

function classes(model, values, target) {
  const several = model.kind === "multilabel";
  const chance = several ? [[model.classes[1] || "1", values[target + "_prob"]]]
    : model.classes.map(name => [name, values[`${target}_prob_${name}`]]);
  const best = [...chance].sort((a, b) => b[1] - a[1])[0];
  const shown = several || model.kind === "binary" ? [chance[chance.length - 1]] : [...chance].sort((a, b) => b[1] - a[1]).slice(0, 4);
  return make("div", { class: "value" }, make("div", { class: "name" }, target),
    make("div", { class: "big" }, String(values[target + "_pred"]),
      several ? null : make("small", {}, ` with ${Math.round(100 * best[1])} %`)),
    shown.map(([name, p]) => [share(p), make("div", { class: "ends" }, make("span", {}, `probability of ${name}`),
      make("span", {}, number(p, 3)))]));
}

function badge(values) {
  const word = values.domain;
  if (!word) return null;
  const said = { inside: "like the training molecules", edge: "at the edge of training", outside: "unlike the training molecules" };
  const more = [`distance ${number(values.distance, 2)}`, values.unseen ? `never seen: ${values.unseen}` : ""].filter(Boolean);
  return make("span", { class: `badge ${word}`, title: more.join("; ") }, said[word] || word);
}

// Whether a model has the name of its only target, which then need not stand there twice.
export const named = model => model.targets.length === 1 && model.targets[0] === model.name;

export class Answer {
  // What one model says of one molecule.
  constructor(model, row, spans, coverage, several) {
    this.model = model;
    this.figure = make("div", {});
    this.near = make("div", {});
    this.part = make("section", { class: "answer", "aria-label": model.name });
    const head = make("div", { class: "line" }, make("span", { class: "model" }, named(model) ? "" : model.name));
    if (several) this.part.append(head);
    if (row.reason) {
      this.part.append(make("p", { class: "problem" }, row.reason));
      return;
    }
    const word = badge(row.values);
    if (several) head.append(word || "");
    const draw = model.kind === "regression" ? regression : classes;
    this.part.append(make("div", { class: "values" + (model.targets.length > 2 ? " several" : "") },
      model.targets.map((target, i) => draw(model, row.values, target, i, spans, coverage))),
      row.values.unseen ? make("p", { class: "soft" }, `${row.values.unseen} not seen in training`) : "", this.figure, this.near);
    if (!several && word) this.part.querySelector(".value").prepend(word);
  }

  waiting() {
    this.figure.replaceChildren(make("figure", {}, make("div", { class: "paper" }, make("div", { class: "wait" }, "explaining\u2026"))));
  }

  explain(found, name, choose) {
    const made = explained(found);
    if (!made.figure) { this.figure.replaceChildren(made); return; }
    if (this.model.targets.length > 1) {
      const target = found.target.split(" = ")[0];
      made.tools.append(make("select", { "aria-label": "Explained target", onchange: event => choose(event.target.value) },
        this.model.targets.map(one => make("option", { value: one, selected: one === target }, one))));
    }
    made.tools.append(...imageButtons(found, name, this.model.name));
    this.figure.replaceChildren(made.figure, made.tools, made.whole || "");
  }

  plain(drawing, text) {
    this.figure.replaceChildren(drawing, make("p", { class: "soft" }, text));
  }

  neighbours(found) {
    this.near.replaceChildren(make("h4", {}, "Nearest training molecules, as measured"), neighbours(found));
  }
}

// The cards of molecules; answers[model][molecule] are what is filled in later.
export function cards(molecules, models, answers, coverage) {
  const place = byId("cards");
  place.replaceChildren();
  const several = models.length > 1, out = new Map();
  const spans = new Map(models.map(model => [model, Object.fromEntries(model.targets.map(target => {
    const ends = answers.get(model).flatMap(row => row.values
      ? ["_low", "_high", "_pred"].map(end => row.values[target + end]).filter(x => typeof x === "number") : []);
    const low = Math.min(...ends), high = Math.max(...ends), space = (high - low) / 5;
    return [target, [low - space, high + space]];
  }))]));
  molecules.forEach((molecule, i) => {
    const fault = models.map(model => answers.get(model)[i]).find(row => row.reason);
    const card = make("article", { class: "card", "aria-label": molecule.name || molecule.smiles },
      make("h3", {}, molecule.name || `Molecule ${i + 1}`),
      make("p", { class: molecule.smiles.length > 120 ? "smiles long" : "smiles", tabindex: molecule.smiles.length > 120 ? 0 : false },
        marked(molecule.smiles, fault && fault.where)));
    if (fault && models.every(model => answers.get(model)[i].reason === fault.reason)) {
      card.append(make("p", { class: "problem" }, fault.reason));
    } else {
      models.forEach(model => {
        const made = new Answer(model, answers.get(model)[i], spans.get(model), coverage, several);
        if (!answers.get(model)[i].reason) out.set(`${i} ${model.name}`, made);
        card.append(made.part);
      });
    }
    place.append(card);
  });
  return out;
}
