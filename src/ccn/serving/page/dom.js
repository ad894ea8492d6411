// Elements made of names, attributes and children. Text is always text: nothing here reads HTML.

const SVG = "http://www.w3.org/2000/svg";

function fill(one, attributes, children) {
  for (const [name, value] of Object.entries(attributes)) {
    if (name.startsWith("on")) one.addEventListener(name.slice(2), value);
    else if (value === true) one.setAttribute(name, "");
    else if (value !== false && value !== null && value !== undefined) one.setAttribute(name, value);
  }
  one.append(...children.flat(Infinity).filter(child => child !== null && child !== undefined));
  return one;
}

export const make = (tag, attributes = {}, ...children) => fill(document.createElement(tag), attributes, children);
export const svg = (tag, attributes = {}, ...children) => fill(document.createElementNS(SVG, tag), attributes, children);
export const byId = id => document.getElementById(id);

// A drawing of the server as a picture: a picture runs no script and loads nothing.
export const picture = (text, alt, attributes = {}) =>
  make("img", { src: "data:image/svg+xml;charset=utf-8," + encodeURIComponent(standing(text)), alt, ...attributes });
const standing = text => text.includes("xmlns") ? text : text.replace("<svg ", `<svg xmlns='${SVG}' `);

export const number = (x, digits = 4) => {
  if (typeof x !== "number") return x === null || x === undefined ? "" : String(x);
  return String(Number(x.toPrecision(digits))).replace("-", "\u2212");
};
export const signed = x => (x > 0 ? "+" : "") + number(x, 3);

// A SMILES with the characters marked at which it goes wrong.
export function marked(smiles, where) {
  if (!where) return [smiles];
  const [from, to] = where;
  return [smiles.slice(0, from), make("mark", { title: "here" }, smiles.slice(from, to) || "\u00a0"), smiles.slice(to)];
}
