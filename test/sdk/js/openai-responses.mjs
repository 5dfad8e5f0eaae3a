import OpenAI from "openai";
import { fault, faults, found, key, question, scenario, schema, v1 } from "./report.mjs";

const client = new OpenAI({ apiKey: key, baseURL: v1, maxRetries: 0 });
const model = "scripted";
const tools = [{ type: "function", name: "lookup", description: "look a row up", parameters: schema, strict: false }];

await scenario("text", () => client.responses.create({ model, input: question }));

await scenario("text streamed", async () => {
  const events = [];
  for await (const event of await client.responses.create({ model, input: question, stream: true })) events.push(event);
  return events;
});

for (const stream of [false, true]) {
  await scenario(stream ? "tools streamed" : "tools", async () => {
    const input = [{ role: "user", content: question }];
    const answers = [];
    for (let turn = 0; turn < 4; turn++) {
      const params = { model, input, tools, store: false, include: ["reasoning.encrypted_content"] };
      const response = stream
        ? await client.responses.stream(params).finalResponse()
        : await client.responses.create(params);
      answers.push(response);
      input.push(...response.output);
      const calls = response.output.filter((item) => item.type === "function_call");
      if (calls.length === 0) break;
      for (const call of calls) {
        JSON.parse(call.arguments);
        input.push({ type: "function_call_output", call_id: call.call_id, output: found });
      }
    }
    return answers;
  });
}

await scenario("chained", async () => {
  const first = await client.responses.create({ model, input: question, tools });
  const call = first.output.find((item) => item.type === "function_call");
  return client.responses.create({
    model, tools, previous_response_id: first.id,
    input: [{ type: "function_call_output", call_id: call.call_id, output: found }],
  });
});

for (const [name, text] of Object.entries(faults)) {
  const options = { headers: fault(text) };
  await scenario(`error ${name}`, () => client.responses.create({ model, input: question }, options));
  await scenario(`error ${name} streamed`, async () => {
    for await (const _ of await client.responses.create({ model, input: question, stream: true }, options));
  });
}

for (const text of ["cut=5&pause=20ms", "error=5"]) {
  await scenario(`broken in mid-stream: ${text}`, async () => {
    let got = 0;
    try {
      const stream = await client.responses.create({ model, input: question, stream: true }, { headers: fault(text) });
      for await (const _ of stream) got++;
    } catch (e) {
      return { got, class: e.constructor.name, message: e.message };
    }
    return { got };
  });
}
