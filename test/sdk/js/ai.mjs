import { createAnthropic } from "@ai-sdk/anthropic";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { generateText, jsonSchema, stepCountIs, streamText, tool } from "ai";
import { fault, faults, found, key, question, scenario, schema, v1 } from "./report.mjs";

globalThis.AI_SDK_LOG_WARNINGS = false;
const openai = createOpenAI({ baseURL: v1, apiKey: key });
const models = {
  messages: createAnthropic({ baseURL: v1, apiKey: key })("claude-scripted"),
  responses: openai.responses("gpt-5.5"),
  chat: openai.chat("scripted"),
  compatible: createOpenAICompatible({ name: "local", baseURL: v1, apiKey: key, includeUsage: true })("scripted"),
};
const tools = { lookup: tool({ description: "look a row up", inputSchema: jsonSchema(schema), execute: async () => found }) };

// summary returns what a caller sees, without the times and ids that the
// SDK itself makes up.
const summary = (steps) =>
  steps.map(({ text, reasoningText, toolCalls, toolResults, finishReason, usage }) => ({
    text, reasoningText, finishReason, usage,
    calls: toolCalls.map(({ toolCallId, toolName, input }) => ({ toolCallId, toolName, input })),
    results: toolResults.map(({ toolCallId, output }) => ({ toolCallId, output })),
  }));

for (const [wire, model] of Object.entries(models)) {
  const base = { model, prompt: question, maxRetries: 0 };
  await scenario(`${wire}: text`, async () => summary((await generateText(base)).steps));
  await scenario(`${wire}: text streamed`, async () => summary(await drained(streamText({ ...base, onError: () => {} }))));
  await scenario(`${wire}: tools`, async () => summary((await generateText({ ...base, tools, stopWhen: stepCountIs(5) })).steps));
  await scenario(`${wire}: tools streamed`, async () =>
    summary(await drained(streamText({ ...base, tools, stopWhen: stepCountIs(5), onError: () => {} }))));
  for (const [name, text] of Object.entries(faults)) {
    const headers = fault(text);
    await scenario(`${wire}: error ${name}`, async () => summary((await generateText({ ...base, headers })).steps));
    await scenario(`${wire}: error ${name} streamed`, () => parts(streamText({ ...base, headers, onError: () => {} })));
  }
  for (const text of ["cut=4&pause=20ms", "error=4"]) {
    await scenario(`${wire}: broken in mid-stream: ${text}`, () => parts(streamText({ ...base, headers: fault(text), onError: () => {} })));
  }
}

async function drained(result) {
  await result.consumeStream();
  return result.steps;
}

// parts returns the kinds of the parts of a stream, with its errors.
async function parts(result) {
  const out = [];
  for await (const part of result.fullStream) {
    out.push(part.type === "error" ? { error: part.error?.message ?? part.error, status: part.error?.statusCode } : part.type);
  }
  return out;
}
