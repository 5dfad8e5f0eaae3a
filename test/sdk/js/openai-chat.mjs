import OpenAI from "openai";
import { fault, faults, found, key, question, scenario, schema, v1 } from "./report.mjs";

const client = new OpenAI({ apiKey: key, baseURL: v1, maxRetries: 0 });
const model = "scripted";
const tools = [{ type: "function", function: { name: "lookup", description: "look a row up", parameters: schema } }];
const ask = [{ role: "user", content: question }];

await scenario("models", async () => (await client.models.list()).data);

await scenario("text", () => client.chat.completions.create({ model, messages: ask }));

await scenario("text streamed", async () => {
  const stream = client.chat.completions.stream({ model, messages: ask, stream_options: { include_usage: true } });
  const deltas = [];
  for await (const chunk of stream) deltas.push(chunk.choices[0]?.delta?.content ?? "");
  return { deltas, final: await stream.finalChatCompletion() };
});

for (const stream of [false, true]) {
  await scenario(stream ? "tools streamed" : "tools", async () => {
    const messages = [...ask];
    const answers = [];
    for (let turn = 0; turn < 4; turn++) {
      const params = { model, messages, tools };
      const completion = stream
        ? await client.chat.completions.stream({ ...params, stream_options: { include_usage: true } }).finalChatCompletion()
        : await client.chat.completions.create(params);
      answers.push(completion);
      const message = completion.choices[0].message;
      messages.push(message);
      if (!message.tool_calls?.length) break;
      for (const call of message.tool_calls) {
        JSON.parse(call.function.arguments);
        messages.push({ role: "tool", tool_call_id: call.id, content: found });
      }
    }
    return answers;
  });
}

for (const [name, text] of Object.entries(faults)) {
  const options = { headers: fault(text) };
  await scenario(`error ${name}`, () => client.chat.completions.create({ model, messages: ask }, options));
  await scenario(`error ${name} streamed`, async () => {
    for await (const _ of await client.chat.completions.create({ model, messages: ask, stream: true }, options));
  });
}

for (const text of ["cut=3&pause=20ms", "error=3"]) {
  await scenario(`broken in mid-stream: ${text}`, async () => {
    let text_ = "";
    try {
      const stream = await client.chat.completions.create({ model, messages: ask, stream: true }, { headers: fault(text) });
      for await (const chunk of stream) text_ += chunk.choices[0]?.delta?.content ?? "";
    } catch (e) {
      return { got: text_, class: e.constructor.name, message: e.message };
    }
    return { got: text_ };
  });
}
