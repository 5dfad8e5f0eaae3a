import Anthropic from "@anthropic-ai/sdk";
import { fault, faults, found, key, question, scenario, schema, url } from "./report.mjs";

const client = new Anthropic({ apiKey: key, baseURL: url, maxRetries: 0 });
const model = "claude-scripted";
const tools = [{ name: "lookup", description: "look a row up", input_schema: schema }];
const ask = [{ role: "user", content: [{ type: "text", text: question, cache_control: { type: "ephemeral" } }] }];
const base = { model, max_tokens: 1000, system: "You tend a garden." };

await scenario("models", async () => (await client.models.list()).data);
await scenario("count", () => client.messages.countTokens({ model, messages: ask, tools }));
await scenario("text", () => client.messages.create({ ...base, messages: ask }));
await scenario("beta", () => client.beta.messages.create({ ...base, messages: ask, betas: ["context-management-2025-06-27"] }));

await scenario("text streamed", async () => {
  const stream = client.messages.stream({ ...base, messages: ask });
  const events = [];
  for await (const event of stream) events.push(event);
  return { events, final: await stream.finalMessage() };
});

for (const stream of [false, true]) {
  await scenario(stream ? "tools streamed" : "tools", async () => {
    const messages = [...ask];
    const answers = [];
    for (let turn = 0; turn < 4; turn++) {
      const params = { ...base, messages, tools };
      const message = stream ? await client.messages.stream(params).finalMessage() : await client.messages.create(params);
      answers.push(message);
      messages.push({ role: "assistant", content: message.content });
      const calls = message.content.filter((block) => block.type === "tool_use");
      if (calls.length === 0) break;
      messages.push({
        role: "user",
        content: calls.map((call) => ({ type: "tool_result", tool_use_id: call.id, content: found })),
      });
    }
    return answers;
  });
}

for (const [name, text] of Object.entries(faults)) {
  const options = { headers: fault(text) };
  await scenario(`error ${name}`, () => client.messages.create({ ...base, messages: ask }, options));
  await scenario(`error ${name} streamed`, async () => {
    for await (const _ of await client.messages.create({ ...base, messages: ask, stream: true }, options));
  });
}

for (const text of ["cut=4&pause=20ms", "error=4"]) {
  await scenario(`broken in mid-stream: ${text}`, async () => {
    let got = 0;
    try {
      const stream = await client.messages.create({ ...base, messages: ask, stream: true }, { headers: fault(text) });
      for await (const _ of stream) got++;
    } catch (e) {
      return { got, class: e.constructor.name, message: e.message };
    }
    return { got };
  });
}
