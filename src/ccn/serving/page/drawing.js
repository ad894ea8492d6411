// A molecule coloured by contributions; an atom under the pointer, or chosen by arrow keys, shows what it contributes,
// what it contributes together with others, and its receptive fields.

import { make, number, picture, signed, svg } from "./dom.js";

const WIDTH = 420, HEIGHT = 300, MARGIN = 45, MOST = 300;

// The part of a drawing in which the molecule is: its first line and its height.
function cropped(found) {
  if (found.atoms.length > MOST) return [0, HEIGHT];
  const lines = found.places.map(place => place[1]);
  const top = Math.max(0, Math.min(...lines) - MARGIN);
  return [top, Math.min(HEIGHT, Math.max(...lines) + MARGIN) - top];
}

function over(found, caption, usual, [top, height]) {
  const layer = svg("svg", { class: "over", viewBox: `0 ${top} ${WIDTH} ${height}`, role: "group",
    "aria-label": "Atoms; use the arrow keys to go from one to the next" });
  const under = svg("g");
  const radius = Math.max(7, Math.min(16, 60 / Math.sqrt(found.atoms.length)));
  const atoms = found.atoms.map((x, i) => svg("circle", {
    cx: found.places[i][0], cy: found.places[i][1], r: radius, tabindex: i ? -1 : 0, role: "img", "data-atom": i,
    "aria-label": `atom ${i}, ${found.symbols[i]}: ${signed(x)}`,
  }));
  const ring = (i, r, kind) => svg("circle", { cx: found.places[i][0], cy: found.places[i][1], r, class: kind });

  function show(i) {
    under.replaceChildren();
    const said = [`atom ${i} (${found.symbols[i]}): ${signed(found.atoms[i])}`];
    const bonds = found.ends.map((pair, k) => [pair, found.bonds[k]]).filter(([pair, x]) => pair.includes(i) && x);
    if (bonds.length) said.push("bonds " + bonds.map(([, x]) => signed(x)).join(", "));
    if (found.pairs) {
      const most = Math.max(...found.pairs.flat().map(Math.abs)) || 1;
      const near = found.pairs[i].map((x, j) => [x, j]).filter(([x, j]) => j !== i && Math.abs(x) > most / 20)
        .sort((a, b) => Math.abs(b[0]) - Math.abs(a[0])).slice(0, 4);
      for (const [x, j] of near) {
        const [x1, y1] = found.places[i], [x2, y2] = found.places[j];
        under.append(svg("line", { x1, y1, x2, y2, stroke: x < 0 ? "#2166ab" : "#d9730d",
          "stroke-width": 1.5 + 5 * Math.abs(x) / most, "stroke-opacity": 0.75 }));
      }
      if (near.length) said.push("with " + near.map(([x, j]) => `${found.symbols[j]}${j} ${signed(x)}`).join(", "));
    }
    if (found.fields) {
      const levels = found.fields[i];
      levels.forEach((field, level) => {
        const before = level ? levels[level - 1] : [];
        for (const j of field.filter(j => j !== i && !before.includes(j)))
          under.append(ring(j, radius + 2, level > 1 ? "field far" : "field"));
      });
      said.push("receptive field: " + levels.map(field => field.length).join(", ") + " atoms by level");
    }
    under.append(ring(i, radius + 2, "here"));
    caption.textContent = said.join("; ");
  }

  const hide = () => { under.replaceChildren(); caption.textContent = usual; };
  atoms.forEach((one, i) => {
    one.addEventListener("pointerenter", () => show(i));
    one.addEventListener("focus", () => show(i));
    one.addEventListener("blur", hide);
  });
  layer.addEventListener("pointerleave", hide);
  layer.addEventListener("keydown", event => {
    const step = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = atoms.indexOf(event.target);
    if (!step || at < 0) return;
    event.preventDefault();
    const next = atoms[(at + step + atoms.length) % atoms.length];
    atoms.forEach(one => one.setAttribute("tabindex", one === next ? 0 : -1));
    next.focus();
  });
  layer.append(under, ...atoms);
  return layer;
}

function bars(whole) {
  const every = Object.entries(whole), shown = every.slice(0, 12);
  const rest = every.slice(12).reduce((sum, [, x]) => sum + x, 0);
  if (every.length > 12) shown.push([`${every.length - 12} others`, rest]);
  const most = Math.max(...shown.map(([, x]) => Math.abs(x))) || 1;
  return make("ul", { class: "bars" }, shown.map(([name, x]) => {
    const width = 50 * Math.abs(x) / most;
    return make("li", {}, make("span", {}, name),
      svg("svg", { viewBox: "0 0 100 10", preserveAspectRatio: "none", "aria-hidden": "true" },
        svg("rect", { x: x < 0 ? 50 - width : 50, y: 1, width, height: 8, class: x < 0 ? "down" : "up" })),
      make("span", {}, signed(x)));
  }));
}

// The figure of an explanation.
export function explained(found) {
  if (!found.drawing) return make("p", { class: "problem" }, found.reason || "There is no drawing.");
  const scale = found.scale === `units of ${found.target}` ? "" : `, ${found.scale}`;
  const usual = `${found.target}${scale}: ${found.equation}` + (found.atoms.length > MOST ? "" : ". Point at an atom for its share.");
  const caption = make("figcaption", { "aria-live": "polite" }, usual);
  const alt = `Contributions of atoms to ${found.target}: ${found.equation}`;
  const [top, height] = cropped(found);
  const drawing = found.drawing.replace(/height='[^']*' viewBox='[^']*'/, `height='${height}' viewBox='0 ${top} ${WIDTH} ${height}'`);
  const stack = make("div", { class: "stack" }, picture(drawing, alt, { width: WIDTH, height }),
    found.atoms.length > MOST ? null : over(found, caption, usual, [top, height]));
  const key = picture(found.legend, `Colours from lowering to raising, in ${found.scale}`, { class: "key" });
  const coloured = make("div", { class: "paper" }, stack, key);
  const together = found.arcs ? make("div", { class: "paper", hidden: true },
    picture(found.arcs, `Pairs of atoms that contribute most together to ${found.target}`, { width: WIDTH })) : null;
  const tools = make("div", { class: "line tools" });
  if (together) {
    const pick = pairs => {
      coloured.hidden = pairs;
      together.hidden = !pairs;
      buttons.forEach((one, k) => one.setAttribute("aria-pressed", Boolean(k) === pairs));
    };
    const buttons = ["Atoms", "Pairs"].map((text, k) =>
      make("button", { type: "button", "aria-pressed": !k ? "true" : "false", onclick: () => pick(Boolean(k)) }, text));
    tools.append(...buttons);
  }
  const parts = [coloured, together, caption].filter(Boolean);
  const whole = Object.keys(found.whole).length
    ? make("details", {}, make("summary", {}, `The molecule as a whole: ${signed(Object.values(found.whole).reduce((a, b) => a + b, 0))}`),
      bars(found.whole))
    : null;
  return { figure: make("figure", {}, ...parts), tools, whole };
}

// The nearest training molecules.
export function neighbours(found) {
  if (!found.length) return make("p", { class: "soft" }, "No training molecule has a part in common with it.");
  return make("div", { class: "near" }, found.map(one => make("figure", {},
    make("div", { class: "paper" }, one.drawing ? picture(one.drawing, one.smiles) : one.smiles),
    make("figcaption", { title: one.smiles },
      Object.entries(one.measured).slice(0, 4).map(([target, value]) =>
        make("strong", {}, value === null ? "not measured" : number(value),
          Object.keys(one.measured).length > 1 ? make("span", { class: "soft" }, ` ${target}`) : "")),
      make("span", {}, `similarity ${number(one.similarity, 2)}`, one.name ? `, ${one.name}` : "")))));
}
