// What is shown, as CSV, as an image, or as a link.

import { make } from "./dom.js";

const cell = value => {
  let text = value === null || value === undefined ? "" : String(value);
  if (/^[=+\-@\t\r]/.test(text) && isNaN(Number(text))) text = "'" + text; // a spreadsheet would run it
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
};

export function csv(molecules, models, answers) {
  const several = models.length > 1, names = new Map();
  models.forEach(model => {
    const first = answers.get(model).find(row => row.values);
    names.set(model, first ? Object.keys(first.values) : []);
  });
  const head = ["smiles", "name", ...models.flatMap(m => names.get(m).map(n => several ? `${m.name}: ${n}` : n)), "reason"];
  const rows = molecules.map((molecule, i) => {
    const found = models.map(model => answers.get(model)[i]);
    const values = models.flatMap((model, k) => names.get(model).map(name => found[k].values ? found[k].values[name] : ""));
    return [molecule.smiles, molecule.name, ...values, (found.find(row => row.reason) || {}).reason];
  });
  return [head, ...rows].map(row => row.map(cell).join(",")).join("\r\n") + "\r\n";
}

export function save(content, name, type) {
  const made = content instanceof Blob ? content : new Blob([content], { type });
  const link = make("a", { href: URL.createObjectURL(made), download: name });
  document.body.append(link);
  link.click();
  link.remove();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}

// Whether it was copied; without a secure connection browsers refuse the clipboard, and an old way may do.
export async function copyText(text) {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    const field = make("textarea", { class: "skip" });
    field.value = text;
    document.body.append(field);
    field.select();
    const done = document.execCommand("copy");
    field.remove();
    return done;
  }
}

async function png(svg) {
  const image = new Image();
  image.src = "data:image/svg+xml;charset=utf-8," + encodeURIComponent(svg);
  await image.decode();
  const canvas = make("canvas", { width: 2 * image.naturalWidth, height: 2 * image.naturalHeight });
  const pen = canvas.getContext("2d");
  pen.fillStyle = "#fff";
  pen.fillRect(0, 0, canvas.width, canvas.height);
  pen.drawImage(image, 0, 0, canvas.width, canvas.height);
  return new Promise(done => canvas.toBlob(done, "image/png"));
}

const fileName = (name, model) => `${name || "molecule"}-${model}`.replace(/[^A-Za-z0-9_-]+/g, "-").slice(0, 80);

export function imageButtons(found, name, model) {
  const copy = make("button", { type: "button" }, "Copy image");
  copy.addEventListener("click", async () => {
    const made = png(found.full);
    try {
      await navigator.clipboard.write([new ClipboardItem({ "image/png": made })]);
      copy.textContent = "Copied";
    } catch {
      save(await made, fileName(name, model) + ".png", "image/png");
      copy.textContent = "Saved";
    }
    setTimeout(() => { copy.textContent = "Copy image"; }, 2000);
  });
  const keep = make("button", { type: "button", onclick: () => save(found.full, fileName(name, model) + ".svg", "image/svg+xml") },
    "Save SVG");
  return [copy, keep];
}

// What is asked, in the part of an address that is never sent to a server.
export function address(asked) {
  const parts = new URLSearchParams();
  parts.set("molecules", asked.text);
  parts.set("models", JSON.stringify(asked.models));
  parts.set("interval", asked.coverage);
  if (Object.keys(asked.columns).length) parts.set("columns", JSON.stringify(asked.columns));
  return location.href.split("#")[0] + "#" + parts.toString();
}

export function restored() {
  const parts = new URLSearchParams(location.hash.slice(1)), read = name => {
    try { return JSON.parse(parts.get(name)); } catch { return null; }
  };
  const models = read("models"), columns = read("columns");
  return {
    token: parts.get("token"), text: parts.get("molecules"), coverage: parts.get("interval"),
    models: Array.isArray(models) ? models.map(String) : null,
    columns: columns && typeof columns === "object" ? columns : {},
  };
}
