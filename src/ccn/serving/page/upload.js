// Tables: uploaded, watched, fetched.

import * as api from "./api.js";
import { save } from "./copy.js";
import { byId, make } from "./dom.js";

const KINDS = { csv: "csv", txt: "csv", tsv: "tsv", smi: "smi", smiles: "smi", sdf: "sdf", sd: "sdf" };
const count = n => n.toLocaleString("en");

async function watch(job, file, item) {
  const bar = make("progress", { max: Math.max(job.rows, 1), value: 0, "aria-label": `progress of ${file.name}` });
  const said = make("span", {}, "waiting"), buttons = make("span", { class: "line" });
  const drop = make("button", { type: "button" }, "Cancel");
  let over = false;
  drop.addEventListener("click", async () => {
    over = true;
    drop.disabled = true;
    try { await api.remove(`/jobs/${job.id}`); } catch { /* it is gone already */ }
    item.remove();
  });
  buttons.append(drop);
  item.replaceChildren(make("span", { class: "name" }, file.name), bar, said, buttons);
  while (!over) {
    await new Promise(done => setTimeout(done, 500));
    if (over) return;
    try {
      job = await api.get(`/jobs/${job.id}`);
    } catch (error) {
      if (error.status === 0) { said.textContent = error.message; continue; } // it may come back
      throw error;
    }
    bar.max = Math.max(job.rows, job.done, 1);
    bar.value = job.done;
    said.textContent = job.state === "running" ? `${count(job.done)} of ${count(job.rows)} rows` : job.state;
    if (job.state === "done" || job.state === "failed") break;
  }
  if (over) return;
  bar.remove();
  drop.textContent = "Remove";
  if (job.state === "failed") {
    said.className = "problem";
    said.textContent = job.error;
    return;
  }
  said.textContent = `${count(job.rows)} rows` + (job.without ? `, ${count(job.without)} without a prediction (see the column reason)` : "");
  const name = file.name.replace(/\.[^.]*$/, "") + "-predicted." + job.output;
  const fetchIt = async event => {
    event.target.disabled = true;
    try { save(await api.blob(`/jobs/${job.id}/result`), name, ""); } catch (error) { said.textContent = error.message; }
    event.target.disabled = false;
  };
  buttons.prepend(make("button", { type: "button", class: "main", onclick: fetchIt }, "Download"));
}

export function uploads(models, coverage) {
  byId("upload-form").addEventListener("submit", async event => {
    event.preventDefault();
    const file = byId("table").files[0], item = make("li", {});
    const kind = KINDS[file.name.toLowerCase().split(".").pop()];
    const model = models().find(one => one.name === byId("upload-model").value);
    byId("jobs").prepend(item);
    if (!kind) {
      item.append(make("span", { class: "problem" }, `${file.name}: choose a .csv, .tsv, .smi or .sdf file`));
      return;
    }
    const query = { model: model.name, kind, output: byId("upload-output").value, domain: model.domain };
    if (coverage() && model.intervals >= Number(coverage())) query.interval = coverage();
    item.append(make("span", { class: "name" }, file.name), make("span", {}, "sending\u2026"));
    byId("send").disabled = true;
    try {
      const job = await api.upload(query, file);
      byId("send").disabled = false;
      byId("upload-form").reset();
      await watch(job, file, item);
    } catch (error) {
      item.replaceChildren(make("span", { class: "name" }, file.name), make("span", { class: "problem" }, error.message));
    } finally {
      byId("send").disabled = false;
    }
  });
}
