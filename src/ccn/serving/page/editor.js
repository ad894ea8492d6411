// The molecule editor (OpenChemLib). The server shows its button where make editor has fetched it.

import { byId } from "./dom.js";

const AT = "/editor/openchemlib.js";
let canvas = null, library = null;

async function open() {
  byId("editor").hidden = false;
  if (canvas) return;
  byId("draw").disabled = true;
  try {
    library = await import(AT);
    canvas = new library.CanvasEditor(byId("canvas"));
  } finally {
    byId("draw").disabled = false;
  }
}

export function editor(add) {
  if (byId("draw").hidden) return;
  byId("draw").addEventListener("click", open);
  byId("close-editor").addEventListener("click", () => { byId("editor").hidden = true; byId("draw").focus(); });
  byId("add").addEventListener("click", () => {
    const smiles = canvas.getMolecule().toIsomericSmiles();
    if (smiles) add(smiles);
    canvas.clearAll();
  });
}

export const drawn = () => library && canvas ? { library, canvas } : null;
