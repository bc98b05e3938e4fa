// Requests to the service that this page comes from. Every failure becomes one sentence.

let token = null;
let askForToken = async () => null;

/** `ask` shows a dialog and gives the token that was typed, or null. */
export function onToken(ask) { askForToken = ask; }

/** A request; asks for a token where one is needed. Throws an Error with a sentence for people. */
export async function request(path, options = {}) {
  const headers = { ...options.headers, ...(token ? { Authorization: `Bearer ${token}` } : {}) };
  let response;
  try {
    response = await fetch(path, { ...options, headers });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Error("The service does not answer. Is `reno serve` still running?");
  }
  if (response.status === 401) {
    token = await askForToken();
    if (token) return request(path, options);
  }
  if (!response.ok) throw new Error(await sentence(response));
  return response;
}

export const post = (path, body, headers = {}) =>
  request(path, { method: "POST", body: JSON.stringify(body),
                  headers: { "Content-Type": "application/json", ...headers } });

async function sentence(response) {
  try {
    const { detail } = await response.json();
    if (typeof detail === "string") return detail;
  } catch { /* not JSON */ }
  return `The service answered ${response.status} ${response.statusText}.`;
}
