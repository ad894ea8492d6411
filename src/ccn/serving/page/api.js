// Requests to the server this page came from.

const KEY = "ccn-token";
export const token = () => sessionStorage.getItem(KEY) || "";
export const setToken = text => sessionStorage.setItem(KEY, text);

export class Problem extends Error {
  constructor(status, text) { super(text); this.status = status; }
}

async function send(path, how = {}) {
  const headers = { ...(how.headers || {}) };
  if (token()) headers.Authorization = "Bearer " + token();
  let answer;
  try {
    answer = await fetch(path, { ...how, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Problem(0, "the server does not answer; is it running?");
  }
  if (answer.ok) return answer;
  let detail = answer.statusText;
  try { detail = (await answer.json()).detail || detail; } catch { /* no JSON */ }
  throw new Problem(answer.status, detail);
}

const pause = ms => new Promise(done => setTimeout(done, ms));

// A busy server is asked again, a few times.
export async function post(path, body, signal) {
  for (let attempt = 0; ; attempt++) {
    try {
      const how = { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body), signal };
      return await (await send(path, how)).json();
    } catch (error) {
      if (error.status !== 429 || attempt >= 4) throw error;
      await pause(500 * 2 ** attempt);
    }
  }
}

export const get = async path => (await send(path)).json();
export const blob = async path => (await send(path)).blob();
export const remove = path => send(path, { method: "DELETE" });
export const upload = async (query, file) => (await send("/jobs?" + new URLSearchParams(query), { method: "POST", body: file })).json();
