// Functions for all scripts here. Each scenario prints one line of JSON with
// its outcome on standard output. The Go test runs a script twice, directly with the
// model and through stet, and compares the lines.

const base = process.env.ANTHROPIC_BASE_URL; // without /v1
if (!base) throw new Error("ANTHROPIC_BASE_URL is not set");
if (process.env.OPENAI_BASE_URL !== base + "/v1") throw new Error("OPENAI_BASE_URL is another");

export const url = base;
export const v1 = base + "/v1";
export const key = "dummy";
export const question = "How many plants are in row 41?";
export const found = "row 41: one plant, 7 litres — 日本 🌱";

export const schema = {
  type: "object",
  properties: { row: { type: "string" }, note: { type: "string" } },
  required: ["row"],
};

// fault makes the model fail one request.
export const fault = (text) => ({ "x-llmtest-fault": text });

export const faults = {
  "429": "status=429&retry-after=7",
  "500": "status=500",
  "529": "status=529",
  "400 of its own": "status=400&body=" + encodeURIComponent('{"error":{"message":"no such thing","type":"odd","param":"x","code":"c1"}}'),
  "no JSON": "status=502&body=" + encodeURIComponent("<html>bad gateway</html>"),
};

export async function scenario(name, run) {
  let outcome;
  try {
    outcome = { ok: await run() };
  } catch (e) {
    outcome = { error: describe(e) };
  }
  console.log(JSON.stringify({ name, ...outcome }));
}

function describe(e) {
  const header = (name) => e.headers?.get?.(name) ?? e.responseHeaders?.[name];
  return {
    class: e.constructor?.name,
    status: e.status ?? e.statusCode,
    message: e.message,
    body: e.error ?? e.responseBody,
    retryAfter: header("retry-after"),
    requestID: e.requestID ?? header("x-request-id"),
    retryable: e.isRetryable,
  };
}
